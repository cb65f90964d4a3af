/// The result of a validation for wallets that request it by JSON; they look at the first origin only.
struct ValidationReport {
  /// The status of a file for one contract.
  enum Status: String {
    /// The signer is trusted.
    case pass
    /// The signature holds, and its signer may be anybody.
    case warn
    /// The file isn't signed for the contract.
    case fail
  }

  /// The result for one of the file's origins.
  struct OriginResult {
    /// The contract's name in the file, or an empty string.
    let name: String
    let status: Status
    let text: String
  }

  /// The signer, or nil unless the signature holds.
  var signer: TokenScriptFile.Signer?
  /// The results, the requested contract's first.
  let origins: [OriginResult]

  init(signer: TokenScriptFile.Signer?, origins: [OriginResult]) {
    self.signer = signer
    self.origins = origins
  }

  /// Makes the report of a file that isn't valid for the contract.
  init(signer: TokenScriptFile.Signer? = nil, failure: String) {
    self.signer = signer
    origins = [OriginResult(name: "", status: .fail, text: failure)]
  }

  /// The report as wallets get it.
  var json: JSONObject {
    let statuses: [JSONObject] = origins.map { origin in
      [
        "name": origin.name, "type": signer?.kind ?? "", "status": origin.status.rawValue,
        "statusText": origin.text, "signingKey": signer?.key ?? "",
      ]
    }
    return [
      "overview": ["originStatuses": statuses] as JSONObject,
      "signatureStatus": (signer == nil ? Status.fail : .pass).rawValue,
    ]
  }
}
