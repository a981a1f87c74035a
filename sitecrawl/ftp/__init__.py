"""FTP without the connections: what a URL names on a server, what that lists, and the page that a listing is."""
