internal import Ethereum
internal import HTTPProtocol
internal import ServiceKit
internal import Platform

/// The requests to try with the demo, as far as its index still gives the responses that they promise.
struct DemoExamples {
  private static let dai = "0x6b175474e89094c44da98b954eedeac495271d0f"
  private static let coin = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"

  /// The index in service.
  let index: ContractIndex
  /// The server's URL, without a slash at its end.
  let url: String
  /// The host name of the requests, or nil for any.
  let host: String?

  /// The examples in the order in which they make sense.
  var all: [ServiceExample] {
    var examples: [ServiceExample] = []
    if case .file = response("2020/03", Self.dai),
      let file = edition("2020/03", Self.dai)?.candidates.first
    {
      let path = "2020/03/\(Self.dai)"
      examples = [
        ServiceExample("200, the TokenScript of Dai and when it was signed", get(path)),
        ServiceExample(
          "304, as it has not changed since then",
          get(path, "If-Modified-Since: \(HTTPDate(file.modified.seconds).text)")),
      ]
    }
    if case .choices = response("2020/06", Self.coin) {
      let path = "2020/06/\(Self.coin)"
      examples.append(
        ServiceExample("300, two signers to choose from", get(path, "Accept: application/json")))
      if let name = DemoSigner.guild.commonName {
        examples.append(
          ServiceExample("200, the file of one of them", get("\(path)?signer=\(name)")))
      }
    }
    if !examples.isEmpty, edition("2019/05", Self.dai) == nil {
      examples.append(
        ServiceExample(
          "404, as nothing is written in that version of the language",
          get("2019/05/\(Self.dai)")))
    }
    return examples
  }

  private func edition(_ schema: String, _ contract: String) -> Edition? {
    guard let schema = SchemaVersion(schema), let contract = EthereumAddress(contract) else {
      return nil
    }
    return index.edition(of: ContractKey(contract), schema)
  }

  private func response(_ schema: String, _ contract: String) -> PreparedResponse? {
    edition(schema, contract)?.response
  }

  private func get(_ path: String, _ field: String? = nil) -> String {
    let fields = [host.map { "Host: \($0)" }, field].compactMap { $0.map { " -H '\($0)'" } }
    return "curl -i\(fields.joined()) '\(url)/\(path)'"
  }
}
