"""Sends requests with the standard library, and knows nothing of limits: batch.py URL THREADS REQUESTS."""
import json
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

url, threads, requests = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def ask(i):
    try:
        with urllib.request.urlopen(f"{url}/{i}", data=b"{}", timeout=300) as answer:
            return answer.read() == f"/{i}".encode()
    except OSError:
        return False


began = time.monotonic()
with ThreadPoolExecutor(threads) as pool:
    done = sum(pool.map(ask, range(requests)))
print(json.dumps({"lost": requests - done, "seconds": time.monotonic() - began}))
