"""Serve's requests.

serve_screen  a line a route and status of each deployment, and the requests behind one
"""
