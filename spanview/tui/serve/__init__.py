"""Serve's requests.

requests_screen  the requests of one route and status
serve_screen     a line a route and status of each deployment
"""
