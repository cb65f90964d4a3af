"""A JSON-RPC endpoint over a real EVM (eth-tester with py-evm), for the tests of accounts that are contracts.

Usage: account_chain.py OWNER

Deploys a wallet (ERC-1271) for which OWNER's key signs, a factory that makes another one at an address that is known
before, and a token. Prints the port, the wallet, the address of the one to be made, the factory, what the factory is called
with and the token in one line, and serves until its standard input ends. `GET /calls` tells the number of calls so far;
`PUT /set` with two words in hexadecimal digits sets the token's slot to a value.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from eth_tester import EthereumTester, PyEVMBackend
from eth_tester.exceptions import TransactionFailed
from eth_utils import keccak, to_checksum_address


def init(code):
    """Code whose execution makes a contract with some code."""
    size = len(code).to_bytes(2, "big")
    return b"\x61" + size + b"\x60\x0e\x60\x00\x39\x61" + size + b"\x60\x00\xf3" + code


def wallet(owner):
    """Returns ERC-1271's mark if ecrecover gives the owner, and reverts otherwise."""
    recover = bytes.fromhex(
        "600435600052"  # the hash
        "60a43560001a602052"  # V
        "606435604052"  # R
        "608435606052"  # S
        "60206000608060006001" "5afa50"
        "600051"
    )
    head = recover + b"\x73" + owner + b"\x14\x60"
    target = len(head) + 1 + 1 + 4
    return (
        head + bytes([target]) + b"\x57" + bytes.fromhex("600080fd") + b"\x5b"
        + bytes.fromhex("631626ba7e60e01b60005260206000f3")
    )


def token():
    """Returns slots: an address's for balanceOf(address), a number's for ownerOf, the sum of both for balanceOf(address,uint256)."""
    head = bytes.fromhex("60003560e01c")
    bodies = {
        "70a08231": bytes.fromhex("5b" "600435" "54" "600052" "60206000f3"),
        # No token without an owner.
        "6352211e": bytes.fromhex("5b" "600435" "54" "80" "15" "60" "f0" "57" "600052" "60206000f3"),
        "00fdd58e": bytes.fromhex("5b" "602435" "600435" "01" "54" "600052" "60206000f3"),
    }
    # Any other call sets a slot.
    rest = bytes.fromhex("602435" "600435" "55" "00")
    place = len(head) + 10 * len(bodies) + len(rest)
    jumps, code = b"", b""
    for selector, body in bodies.items():
        jumps += b"\x80\x63" + bytes.fromhex(selector) + b"\x14\x60" + bytes([place + len(code)]) + b"\x57"
        code += body
    code = head + jumps + rest + code
    end = bytes([len(code)])
    return code.replace(b"\x15\x60\xf0\x57", b"\x15\x60" + end + b"\x57") + bytes.fromhex("5b" "600080fd")


def main():
    owner = bytes.fromhex(sys.argv[1].removeprefix("0x"))
    tester = EthereumTester(PyEVMBackend())
    sender = tester.get_accounts()[0]

    def deploy(code):
        transaction = tester.send_transaction(
            {"from": sender, "gas": 3_000_000, "data": "0x" + init(code).hex()}
        )
        return tester.get_transaction_receipt(transaction)["contract_address"]

    made = deploy(wallet(owner))
    # CREATE2 with what it is called with, and a salt of 0.
    factory = deploy(bytes.fromhex("366000600037" "60003660006000f5" "60005260206000f3"))
    coin = deploy(token())
    code = init(wallet(owner))
    future = keccak(b"\xff" + bytes.fromhex(factory[2:]) + bytes(32) + keccak(code))[12:]
    calls = 0

    def answer(request):
        nonlocal calls
        calls += 1
        call, block = request["params"]
        assert request["method"] == "eth_call" and block == "latest"
        try:
            result = tester.call({"from": sender, "gas": 3_000_000, **call})
        except TransactionFailed:
            error = {"code": 3, "message": "execution reverted"}
            return {"jsonrpc": "2.0", "id": request["id"], "error": error}
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}

    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.reply(str(calls).encode())

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                both = isinstance(request, list)
                self.reply(
                    json.dumps([answer(one) for one in request] if both else answer(request)).encode()
                )

        def do_PUT(self):
            words = self.rfile.read(int(self.headers["Content-Length"])).decode()
            with lock:
                tester.send_transaction({"from": sender, "to": coin, "gas": 100_000, "data": "0x00000000" + words})
            self.reply(b"")

        def reply(self, text):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(
        "ready", server.server_port, to_checksum_address(made), to_checksum_address(future), factory,
        code.hex(), to_checksum_address(coin), flush=True,
    )
    sys.stdin.read()


main()
