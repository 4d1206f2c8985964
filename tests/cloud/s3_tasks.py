"""Does a task on a server of S3's API, by Amazon's own client (boto3).

The program reads the task, a JSON object, and prints the result. {"do": "accounts"}
makes the users and prints their keys. {"do": "fill", "keys", "bucket", "acl",
"objects"} puts objects, in Base64, and prints their ETags.
"""

import base64
import json
import os
import sys

import boto3
import botocore.config
import google_crc32c

EVERYTHING = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
ANYBODY = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}]})


def client(service, keys):
    return boto3.client(
        service, endpoint_url=os.environ["S3_URL"], region_name="us-east-1",
        aws_access_key_id=keys["id"], aws_secret_access_key=keys["secret"],
        config=botocore.config.Config(s3={"addressing_style": "path"}))


def make_accounts(task):
    """Returns the keys of a user who may do everything, of one who may do nothing, and
    of a session of the first user."""
    keys = {}
    iam = client("iam", {"id": "x", "secret": "x"})
    for user in ("reader", "untrusted"):
        iam.create_user(UserName=user)
        made = iam.create_access_key(UserName=user)["AccessKey"]
        keys[user] = {"id": made["AccessKeyId"],
                      "secret": made["SecretAccessKey"]}
    iam.put_user_policy(UserName="reader", PolicyName="all",
                        PolicyDocument=EVERYTHING)
    role = iam.create_role(RoleName="guest", AssumeRolePolicyDocument=ANYBODY)
    iam.put_role_policy(RoleName="guest", PolicyName="all",
                        PolicyDocument=EVERYTHING)
    session = client("sts", {"id": "x", "secret": "x"}).assume_role(
        RoleArn=role["Role"]["Arn"], RoleSessionName="tests")["Credentials"]
    keys["session"] = {"id": session["AccessKeyId"],
                       "secret": session["SecretAccessKey"],
                       "token": session["SessionToken"]}
    return keys


def fill(task):
    s3 = client("s3", task["keys"])
    if task["bucket"] not in [bucket["Name"]
                              for bucket in s3.list_buckets()["Buckets"]]:
        s3.create_bucket(Bucket=task["bucket"])
    tags = {}
    for name, content in task["objects"].items():
        body = base64.b64decode(content)
        checksum = google_crc32c.Checksum(body).digest()
        tags[name] = s3.put_object(
            Bucket=task["bucket"], Key=name, ACL=task["acl"], Body=body,
            ChecksumAlgorithm="CRC32C",
            ChecksumCRC32C=base64.b64encode(checksum).decode())["ETag"]
    return tags


def main():
    task = json.load(sys.stdin)
    does = {"accounts": make_accounts, "fill": fill}[task["do"]]
    json.dump(does(task), sys.stdout)


if __name__ == "__main__":
    main()
