"""What can be typed after `scrapy`, as scripts that let shells complete it."""
