"""The settings of the project: Scrapy's own where it has one, `SITECRAWL_*` for the rest."""

BOT_NAME = "sitecrawl"
SPIDER_MODULES = ["sitecrawl.spiders"]
NEWSPIDER_MODULE = "sitecrawl.spiders"
COMMANDS_MODULE = "sitecrawl.commands"
