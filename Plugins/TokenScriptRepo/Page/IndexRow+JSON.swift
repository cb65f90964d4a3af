internal import Cryptography
internal import Ethereum
internal import Time
internal import TokenScriptReading

extension IndexRow: Encodable {
  /// The contract's owners, each once.
  var ownerNames: [String] { Set(owners.map(\.checksummed)).sorted() }

  /// The row as programs get it.
  private var json: JSONObject {
    // The chains are there by the name of the element's attribute too.
    let chains = chains.map(\.number)
    return [
      "contract": contract?.checksummed, "name": name, "contractName": contractName,
      "networks": chains, "chains": chains, "owners": ownerNames, "schema": schema?.path,
      "time": time?.description, "accepted": accepted?.description, "signer": signer?.name,
      "key": signer?.key, "authority": signer?.authority, "kind": signer?.kind,
      "standing": standing?.rawValue, "path": path.text, "sha256": digest?.hex, "cids": cids,
      "size": size, "state": state.words, "warnings": warnings,
    ]
  }

  func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
