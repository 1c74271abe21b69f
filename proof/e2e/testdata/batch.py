"""Sends requests with the standard library, each once, and knows nothing of limits: batch.py URL THREADS REQUESTS [keep].
With keep each thread keeps its connection."""
import http.client
import json
import sys
import threading
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


mine = threading.local()


def keep(i):
    try:
        if not hasattr(mine, "connection"):
            mine.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=300)
        mine.connection.request("POST", f"/{i}", b"{}")
        answer = mine.connection.getresponse()
        return answer.read() == f"/{i}".encode() and answer.status == 200
    except (OSError, http.client.HTTPException):
        mine.connection.close()
        return False


began = time.monotonic()
with ThreadPoolExecutor(threads) as pool:
    done = sum(pool.map(keep if "keep" in sys.argv else ask, range(requests)))
print(json.dumps({"lost": requests - done, "seconds": time.monotonic() - began}))
