"""A whole crawl in one file: read with the line of every mistake, and checked (docs/job.md)."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"job": "sitecrawl.plugins.jobs.commands.job.Command"},
    job_files="sitecrawl.plugins.jobs.job.TomlFiles",
)
