"""The report of a run: one HTML file that needs neither a server nor the network.

`page` puts it together from `data` (what the page shows, one JSON with a version), its template
(what is seen without JavaScript), `web/` (the page's own scripts and styles) and `vendor/`.
"""
