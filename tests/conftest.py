"""What holds for all tests. The folders mirror the rooms of the product; what tests share is in `helpers`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says something of the machine and what else it does, and nothing of the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
