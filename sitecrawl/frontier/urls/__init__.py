"""What is known: of each URL its record, state and credit; of hosts and sections their politeness, their queues on
disk, what their fetches gave and how they grow.
"""
