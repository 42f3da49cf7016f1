"""The playground: a page and an HTTP API on top of the library, and a client for the API.

The client needs nothing else; the server needs the extra `web` (FastAPI and uvicorn).
"""
