"""A forum: scrapy runspider follow_pagination.py -a seeds=https://forum.example/topics?page=1 -O posts.csv"""

from sitecrawl.spiders.site import SiteSpider


class PostsSpider(SiteSpider):
    name = "posts"
    start_urls = ["https://forum.example/topics?page=1"]

    def admits(self, link):
        """The pages of the list, and the topics; nothing else of the site."""
        return super().admits(link) and ("/topics?page=" in link.url or "/topic/" in link.url)

    def extract(self, response, page):
        if page.content_type == "application/json":
            yield from self.posts(response)
        elif number := response.css("[data-topic]::attr(data-topic)").get():
            # The posts come from an address that no link names: it is asked for, and passes the frontier like a link.
            yield response.follow(f"/api/posts?topic={number}", callback=self.parse)

    def posts(self, response):
        answer = response.json()
        for post in answer["posts"]:
            yield {"topic": answer["topic"], "author": post["author"], "text": post["text"]}
        if answer.get("next"):
            yield response.follow(answer["next"], callback=self.parse)
