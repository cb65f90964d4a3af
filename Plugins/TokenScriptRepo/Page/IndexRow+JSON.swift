internal import Cryptography
internal import Ethereum
internal import Time
internal import TokenScriptReading

extension IndexRow: Encodable {
  private enum Key: String, CodingKey {
    case contract, name, contractName, networks, chains, owners, schema, time, accepted, signer
    case key, authority, kind, standing, path, sha256, cids, size, state, warnings
  }

  /// The contract's owners in the listing, each once.
  var ownerNames: [String] { Set(owners.map(\.checksummed)).sorted() }

  /// Encodes the row with every key, with null for a missing value.
  func encode(to encoder: any Encoder) throws {
    var row = encoder.container(keyedBy: Key.self)
    try row.encode(contract?.checksummed, forKey: .contract)
    try row.encode(name, forKey: .name)
    try row.encode(contractName, forKey: .contractName)
    // The same twice: once by the name of the element's attribute.
    try row.encode(chains.map(\.number), forKey: .networks)
    try row.encode(chains.map(\.number), forKey: .chains)
    try row.encode(ownerNames, forKey: .owners)
    try row.encode(schema?.path, forKey: .schema)
    try row.encode(time?.description, forKey: .time)
    try row.encode(accepted?.description, forKey: .accepted)
    try row.encode(signer?.name, forKey: .signer)
    try row.encode(signer?.key, forKey: .key)
    try row.encode(signer?.authority, forKey: .authority)
    try row.encode(signer?.kind, forKey: .kind)
    try row.encode(standing?.rawValue, forKey: .standing)
    try row.encode(path.text, forKey: .path)
    try row.encode(digest?.hex, forKey: .sha256)
    try row.encode(cids, forKey: .cids)
    try row.encode(size, forKey: .size)
    try row.encode(state.words, forKey: .state)
    try row.encode(warnings, forKey: .warnings)
  }
}

/// A value that is encoded as null if it is missing.
@propertyWrapper
struct Nullable<Value: Encodable & Sendable>: Encodable, Sendable {
  var wrappedValue: Value?

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue)
  }
}
