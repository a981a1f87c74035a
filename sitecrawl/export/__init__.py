"""What a crawl has stored, in the forms that others take: tables, a link graph, an archive in one file."""
