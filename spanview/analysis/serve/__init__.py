"""Ray Serve's requests.

requests  a request: proxy, routing and replica as one
calls     calls of replicas, where two hooks are on
nested    what a replica waited in queues of the deployments that it called
pairs     the two traces of one FastAPI request
groups    requests by application, deployment, route and status
"""
