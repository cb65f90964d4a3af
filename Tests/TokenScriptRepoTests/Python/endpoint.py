"""A JSON-RPC endpoint over a real EVM (eth-tester with py-evm), for the tests of the proof by the chain.

Usage: endpoint.py OWNER URI…

Deploys a contract with an owner and script URIs, one that answers with one string, one that reverts, and a registry.
Prints the port and their addresses in one line, and serves until its standard input ends.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from eth_abi import encode
from eth_tester import EthereumTester, PyEVMBackend
from eth_tester.exceptions import TransactionFailed
from eth_utils import keccak


def runtime(answers):
    """Assembles code that returns constant data for each function's selector, and reverts otherwise."""
    data = list(answers.items())
    head = 6 + 11 * len(data) + 4
    blocks = [head + 16 * index for index in range(len(data))]
    offset = head + 16 * len(data)
    code = bytes.fromhex("60003560e01c")  # the selector
    for (selector, _), block in zip(data, blocks):
        code += b"\x80\x63" + selector + b"\x14\x61" + block.to_bytes(2, "big") + b"\x57"
    code += bytes.fromhex("600080fd")  # revert
    for _, value in data:
        size = len(value).to_bytes(2, "big")
        code += b"\x5b\x61" + size + b"\x61" + offset.to_bytes(2, "big") + b"\x60\x00\x39"
        code += b"\x61" + size + b"\x60\x00\xf3"
        offset += len(value)
    return code + b"".join(value for _, value in data)


def deploy(tester, answers):
    """Deploys a contract, and returns its address."""
    code = runtime({keccak(text=name)[:4]: value for name, value in answers.items()})
    size = len(code).to_bytes(2, "big")
    init = b"\x61" + size + b"\x60\x0f\x60\x00\x39\x61" + size + b"\x60\x00\xf3"
    init = init.ljust(15, b"\x00") + code
    sender = tester.get_accounts()[0]
    transaction = tester.send_transaction(
        {"from": sender, "gas": 3_000_000, "data": "0x" + init.hex()}
    )
    return tester.get_transaction_receipt(transaction)["contract_address"]


def main():
    owner, uris = sys.argv[1], sys.argv[2:]
    tester = EthereumTester(PyEVMBackend())
    addresses = [
        deploy(
            tester,
            {
                "owner()": encode(["address"], [owner]),
                "scriptURI()": encode(["string[]"], [uris]),
            },
        ),
        deploy(tester, {"scriptURI()": encode(["string"], [uris[0]])}),
        deploy(tester, {}),
        deploy(tester, {"scriptURI(address)": encode(["string[]"], [["ipfs://registered"]])}),
    ]
    sender = tester.get_accounts()[0]

    def answer(request):
        call, block = request["params"]
        assert request["method"] == "eth_call" and block == "latest"
        try:
            result = tester.call(
                {"from": sender, "to": call["to"], "data": call["data"], "gas": 1_000_000}
            )
        except TransactionFailed:
            error = {"code": 3, "message": "execution reverted"}
            return {"jsonrpc": "2.0", "id": request["id"], "error": error}
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}

    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                answers = [answer(request) for request in json.loads(body)]
            text = json.dumps(answers).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", server.server_port, *addresses, flush=True)
    sys.stdin.read()


main()
