#!/usr/bin/env python3
"""A small harness for tests: speaks to the model as Claude Code does, runs three tools, and writes a log of the same form.

`rpc` and `serve PORT` take prompts from a client, and `export` prints the log."""
import http.client, http.server, json, os, subprocess, sys, uuid, glob, datetime
from urllib.parse import urlparse

VERSION = "2.1.331"
if "--help" in sys.argv:
    print("Usage: claude\n  --output-format\n  --verbose\n  --dangerously-skip-permissions\n  --continue\n  --resume")
    sys.exit()
if "--bg" in sys.argv:
    # The work goes on in a process that nobody waits for.
    behind = subprocess.Popen([sys.executable, __file__], start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    behind.stdin.write(sys.argv[-1].encode())
    behind.stdin.close()
    sys.exit()
if "stop" in sys.argv:
    sys.exit()
mode = next((word for word in ("rpc", "serve", "export") if word in sys.argv), None)
prompt, home, cwd = "" if mode else sys.stdin.read(), os.environ["HOME"], os.getcwd()
folder = os.path.join(home, ".claude/projects", "".join(c if c.isalnum() else "-" for c in cwd))
os.makedirs(folder, exist_ok=True)
old = sorted(glob.glob(folder + "/*.jsonl"), key=os.path.getmtime) if mode == "export" or "--continue" in sys.argv or "--resume" in sys.argv else []
session = os.path.basename(old[-1])[:-6] if old else str(uuid.uuid4())
path, messages, parent = f"{folder}/{session}.jsonl", [], None
if old:
    for line in open(path):
        record = json.loads(line)
        messages.append({"role": record["message"]["role"], "content": record["message"]["content"]})
        parent = record["uuid"]

def keep(kind, message, **more):
    global parent
    record = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": cwd, "sessionId": session, "version": VERSION, "gitBranch": "main",
              "type": kind, "message": message, **more, "uuid": str(uuid.uuid4()), "timestamp": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + "000Z"}
    parent = record["uuid"]
    with open(path, "a") as log:
        log.write(json.dumps(record) + "\n")

TOOLS = [{"name": n, "input_schema": {"properties": {p: {} for p in ps}}} for n, ps in
         (("Read", ["file_path", "offset", "limit"]), ("Write", ["file_path", "content"]), ("Bash", ["command", "description"]))]

def ask():
    """One request; returns the message of the stream."""
    where = urlparse(os.environ["ANTHROPIC_BASE_URL"])
    line = http.client.HTTPConnection(where.hostname, where.port)
    line.request("POST", "/v1/messages?beta=true", json.dumps({"model": "claude-opus-4-5", "stream": True, "messages": messages, "tools": TOOLS}), {"content-type": "application/json"})
    answer, message = line.getresponse(), None
    for event in answer.read().decode().split("\n\n"):
        data = event.split("data: ", 1)
        if len(data) < 2:
            continue
        data = json.loads(data[1])
        if data["type"] == "message_start":
            message = data["message"]
        elif data["type"] == "content_block_start":
            message["content"].append(dict(data["content_block"]))
        elif data["type"] == "content_block_delta":
            block, delta = message["content"][-1], data["delta"]
            for member in ("text", "thinking", "signature"):
                if member in delta:
                    block[member] += delta[member]
            if "partial_json" in delta:
                block["json"] = block.get("json", "") + delta["partial_json"]
        elif data["type"] == "content_block_stop" and "json" in message["content"][-1]:
            block = message["content"][-1]
            block["input"] = json.loads(block.pop("json"))
        elif data["type"] == "message_delta":
            message["stop_reason"] = data["delta"]["stop_reason"]
            message["usage"]["output_tokens"] = data["usage"]["output_tokens"]
    return message

def act(name, args):
    if name == "Bash":
        done = subprocess.run(["sh", "-c", args["command"]], capture_output=True, text=True)
        return done.stdout.strip("\n"), {"stdout": done.stdout.strip("\n"), "stderr": done.stderr, "interrupted": False, "isImage": False}
    if name == "Write":
        os.makedirs(os.path.dirname(args["file_path"]), exist_ok=True)
        with open(args["file_path"], "w") as file:
            file.write(args["content"])
        return f"File created successfully at: {args['file_path']}", {"type": "create", "filePath": args["file_path"], "content": args["content"], "structuredPatch": []}
    text = open(args["file_path"]).read()
    lines = text.split("\n")
    return "\n".join(f"{n}\t{l}" for n, l in enumerate(lines, 1)), {"type": "text", "file": {"filePath": args["file_path"], "content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}}

# A process that leaves the group and would run for ever.
subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def turn(prompt):
    messages.append({"role": "user", "content": prompt})
    keep("user", messages[-1])
    while True:
        message = ask()
        messages.append({"role": "assistant", "content": message["content"]})
        for block in message["content"]:
            keep("assistant", {**message, "content": [block]}, requestId="req_recorded")
        results = []
        for block in message["content"]:
            if block["type"] == "tool_use":
                result = {"tool_use_id": block["id"], "type": "tool_result"}
                try:
                    text, facts = act(block["name"], block["input"])
                    results.append(({**result, "content": text}, facts))
                except (OSError, ValueError, KeyError) as error:
                    results.append(({**result, "content": f"<tool_use_error>{error}</tool_use_error>", "is_error": True}, f"Error: {error}"))
        if not results:
            break
        messages.append({"role": "user", "content": [result for result, _ in results]})
        for result, facts in results:
            keep("user", {"role": "user", "content": [result]}, toolUseResult=facts)

def lead():
    """Prompts over standard input; each one needs a permission."""
    send = lambda message: print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
    for line in sys.stdin:
        call = json.loads(line)
        if call["method"] != "prompt":
            send({"id": call["id"], "error": {"code": -32601, "message": "unknown"}})
            continue
        send({"id": "ask", "method": "permission", "params": {}})
        if json.loads(sys.stdin.readline())["result"]["allowed"]:
            turn(call["params"]["text"])
        send({"id": call["id"], "result": {"session": {"id": session}}})
        send({"method": "done", "params": {"session": session}})

class Door(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "null")
        if self.path == "/prompt":
            turn(body["text"])
        answer = json.dumps({"session": session}).encode()
        self.send_response(200 if self.path == "/prompt" else 404)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

if mode == "rpc":
    lead()
elif mode == "serve":
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[-1])), Door).serve_forever()
elif mode == "export":
    print(open(path).read(), end="")
else:
    turn(prompt)
