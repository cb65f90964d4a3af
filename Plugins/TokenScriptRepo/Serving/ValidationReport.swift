internal import TokenScriptReading

/// The verdict on a file for wallets that ask by JSON; they look at the first origin only.
struct ValidationReport: Encodable, Equatable, Sendable {
  /// The verdict on a file for one contract.
  enum Status: String, Encodable {
    /// The signer is trusted.
    case pass
    /// The signature holds, and its signer may be anybody.
    case warn
    /// The file isn't signed for the contract.
    case fail
  }

  /// A contract that the file is for.
  struct Origin: Encodable, Equatable, Sendable {
    let name: String
    let type: String
    let status: Status
    let statusText: String
    /// The identifier of the signer's key, or an empty string.
    let signingKey: String

    /// Makes the verdict on a file for a contract.
    init(
      name: String, _ signer: TokenScriptFile.Signer?, _ verdict: (status: Status, text: String)
    ) {
      self.name = name
      type = signer?.kind ?? ""
      (status, statusText) = verdict
      signingKey = signer?.key ?? ""
    }
  }

  private struct Overview: Encodable, Equatable {
    let originStatuses: [Origin]
  }

  private let overview: Overview
  /// The verdict on the signature alone.
  private let signatureStatus: Status

  /// The verdicts, the one that was asked for first.
  var origins: [Origin] { overview.originStatuses }

  /// Makes the report of a file whose signature holds.
  init(_ origins: [Origin]) {
    overview = Overview(originStatuses: origins)
    signatureStatus = .pass
  }

  /// Makes the report of a file that isn't signed for the contract.
  ///
  /// - Parameters:
  ///   - failure: the reason.
  ///   - signer: the signer, or nil unless the signature holds.
  init(failure: String, signer: TokenScriptFile.Signer? = nil) {
    overview = Overview(originStatuses: [Origin(name: "", signer, (.fail, failure))])
    signatureStatus = signer == nil ? .fail : .pass
  }
}
