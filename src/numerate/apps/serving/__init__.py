"""`numerate serve`: finding, filling and checking numbers over HTTP. FastAPI and uvicorn (extra `serve`) load lazily.

A request passes `guard` (token, size, overload, time), then `api` (one function for each path), and for a language
model `batching`, whose one thread answers what arrives at the same time in one pass (`model_desk`). `server` runs the
worker processes.
"""
