/// The verdict on a file for wallets that ask by JSON; they look at the first origin only.
struct ValidationReport {
  /// The verdict on a file for one contract.
  enum Status: String {
    /// The signer is trusted.
    case pass
    /// The signature holds, and its signer may be anybody.
    case warn
    /// The file isn't signed for the contract.
    case fail
  }

  /// The signer, or nil unless the signature holds.
  var signer: TokenScriptFile.Signer?
  /// The verdicts with the contracts' names, the one that was asked for first.
  let origins: [(name: String, status: Status, text: String)]

  /// The report as wallets get it.
  var json: JSONObject {
    let statuses: [JSONObject] = origins.map { name, status, text in
      [
        "name": name, "type": signer?.kind ?? "", "status": status.rawValue, "statusText": text,
        "signingKey": signer?.key ?? "",
      ]
    }
    return [
      "overview": ["originStatuses": statuses] as JSONObject,
      "signatureStatus": (signer == nil ? Status.fail : .pass).rawValue,
    ]
  }
}
