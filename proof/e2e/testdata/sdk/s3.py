"""Uploads and reads objects with boto3 as it comes: s3.py KIND ADDRESS AT_A_TIME REQUESTS. It prints how many were lost."""
import hashlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import boto3
from botocore.config import Config

kind, address, at_a_time, requests = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
s3 = boto3.client(
    "s3", "us-east-1", aws_access_key_id="e2e", aws_secret_access_key="e2e-secret-key",
    endpoint_url=None if kind == "boto3-aws" else f"http://{address}",
    config=Config(s3={"addressing_style": "path", "us_east_1_regional_endpoint": "regional"}, max_pool_connections=at_a_time, read_timeout=600),
)


def through(request, **_):
    """Sends what is signed for AWS to the proxy."""
    url = urlsplit(request.url)
    request.headers["Host"] = url.netloc
    request.url = url._replace(scheme="http", netloc=address).geturl()


if kind == "boto3-aws":
    s3.meta.events.register("before-send.s3", through)


def ask(i):
    body = hashlib.md5(str(i).encode()).digest() * 1024
    where = {"Bucket": "bucket", "Key": f"{kind}/{i} ü+"}
    try:
        s3.put_object(Body=body, **where)
        return s3.get_object(**where)["Body"].read() == body
    except Exception as e:  # any
        return str(e)[:200]


began = time.monotonic()
with ThreadPoolExecutor(at_a_time) as pool:
    all = list(pool.map(ask, range(requests)))
bad = [r for r in all if r is not True]
print(json.dumps({"lost": len(bad), "seconds": time.monotonic() - began, "reasons": {str(r): bad.count(r) for r in set(bad)}}))
