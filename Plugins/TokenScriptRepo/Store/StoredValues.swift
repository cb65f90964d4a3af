package import Cryptography
package import Ethereum
public import Storage

extension SchemaVersion: DatabaseValueConvertible {
  /// The version as text.
  package var databaseValue: DatabaseValue { .text(path) }

  /// Reads a version from text.
  package init?(databaseValue: DatabaseValue) {
    guard case .text(let text) = databaseValue else { return nil }
    self.init(text)
  }
}

extension RepositoryPath: DatabaseValueConvertible {
  /// The path's bytes, which need not be UTF-8.
  var databaseValue: DatabaseValue { .blob(bytes) }

  /// Reads a path from its bytes.
  init?(databaseValue: DatabaseValue) {
    guard case .blob(let bytes) = databaseValue else { return nil }
    self.init(bytes: bytes)
  }
}

extension EthereumAddress: DatabaseValueConvertible {}
extension SHA256.Digest: DatabaseValueConvertible {}

extension ChainID: DatabaseValueConvertible {
  /// The chain's number.
  package var databaseValue: DatabaseValue { .integer(number) }

  /// Reads a chain from its number.
  package init?(databaseValue: DatabaseValue) {
    guard case .integer(let number) = databaseValue else { return nil }
    self.init(number)
  }
}

extension TokenScriptFile.Finding {
  /// The first column of a finding: NULL for "not checked", an empty text for "passed".
  var reason: String? {
    switch self {
    case .unchecked: nil
    case .passed: ""
    case .failed(let refusal): refusal.reason
    }
  }

  /// The second column of a finding.
  var detail: String? {
    guard case .failed(let refusal) = self else { return nil }
    return refusal.detail
  }

  /// Makes a finding of its two columns.
  init(reason: String?, detail: String?) {
    switch reason {
    case nil: self = .unchecked
    case "": self = .passed
    case let reason?: self = .failed(FileRefusal(reason: reason, detail: detail ?? ""))
    }
  }
}
