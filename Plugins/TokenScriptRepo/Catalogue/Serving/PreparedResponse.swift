internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import Platform
internal import Routing
internal import TokenScriptRepoResources
internal import WebApps

/// The response to requests for one contract and version, but for what depends on the request.
enum PreparedResponse: Sendable {
  /// One file.
  case file(PreparedFile)
  /// Several files, for the wallet to choose from.
  case choices(PreparedChoices)
  /// The contract was served here and has been withdrawn.
  case gone
}

/// Prepares the responses for one contract and version; equal files are prepared once.
struct ResponsePreparation {
  struct Key: Hashable {
    let digest: SHA256.Digest
    let modified: Timestamp
  }

  /// The contract.
  let contract: EthereumAddress
  /// The version.
  let schema: SchemaVersion
  /// The signer that the requests name, or nil.
  var signer: String?
  /// The header fields of responses.
  let headers: ResponseHeaders
  private(set) var files: [Key: PreparedFile] = [:]

  /// Prepares the response with some files.
  ///
  /// - Parameters:
  ///   - since: the time since when they have been the answer, or nil if it does not matter.
  mutating func response(
    with answer: ChainSelection.Answer, since: Timestamp? = nil
  ) -> PreparedResponse {
    guard case .files(let chosen, _) = answer, chosen.count == 1 else {
      return .choices(
        PreparedChoices(answer, contract: contract, schema: schema, signer: signer, headers))
    }
    let file = chosen[0]
    let modified = max(file.modified, since ?? file.modified)
    let key = Key(digest: file.content.digest, modified: modified)
    let prepared = files[key] ?? PreparedFile(file.content, modified: modified, headers)
    files[key] = prepared
    return .file(prepared)
  }
}

/// The responses with several files for one contract and version, by signer or by chain: status 300 (RFC 9110,
/// section 15.4.1).
///
/// There is neither `Location` nor a validator, so that no client follows or caches a choice that its user has not made.
final class PreparedChoices: Sendable {
  private let empty: Response
  private let json: Response
  private let html: Response

  private static let template = PageTemplate(Resource(tokenscript_choices_html()).bytes)

  /// Prepares the responses.
  ///
  /// - Parameters:
  ///   - answer: one file of each signer, the newest first, or the files of each chain.
  ///   - signer: the signer that the requests name, or nil.
  init(
    _ answer: ChainSelection.Answer, contract: EthereumAddress, schema: SchemaVersion,
    signer: String?, _ headers: ResponseHeaders
  ) {
    func path(_ chain: ChainID?) -> String {
      "/\(schema)/\(chain.map { "chain/\($0)/" } ?? "")\(contract.lowercase)"
    }
    let links: [Link]
    let reason: String
    switch answer {
    case .files(let files, let chain):
      links = files.map { Link($0, among: files, path: path(chain), chain) }
      reason = "Several signers have published a TokenScript for this contract:"
    case .chains(let chains):
      links = chains.map { Link($0, path: path($0.chain), signer: signer) }
      reason = "There are different TokenScripts for this address on several chains:"
    }
    var common = headers.common
    for link in links { common.append(.link, link.fieldValue) }
    empty = Response(.multipleChoices).with(common, ResponseHeaders.foreignContent)
    // Strings always have a JSON form; if they had none, the links would be enough.
    let json = try? Response(.multipleChoices, json: ["choices": links])
    self.json = json?.with(common, ResponseHeaders.foreignContent) ?? empty
    let title = contract.checksummed
    let list = Self.template.html([
      "contract": title, "reason": reason,
      "links": links.map { ["url": $0.url, "title": $0.title, "modified": $0.modified] },
    ])
    let page = PageStyle.message.document(title: title, list)
    html = Response(.multipleChoices, page: page, .message).with(common)
  }

  /// Responds to a request, whose conditions are ignored.
  ///
  /// - Parameter head: the request. Its `Accept` decides about the form of the list.
  /// - Returns: 300, with a body only if `Accept` names JSON or HTML.
  func response(to head: RequestHead) -> Response {
    let accept = AcceptList(head, .accept)
    if accept.prefers("application/json", to: "text/html") { return json }
    return accept.quality(of: "text/html") ?? 0 > 0 ? html : empty
  }
}

/// A link to one signer's file, or to the files of one chain.
private struct Link: Encodable {
  let url: String
  let signer: String
  let key: String
  let modified: String
  /// The number of the chain that the URL names, or nil if it names none.
  let chain: Int64?
  let title: String

  private enum CodingKeys: CodingKey { case url, signer, key, modified, chain }

  /// Makes a link to one of several signers' files.
  init(_ candidate: Candidate, among candidates: [Candidate], path: String, _ chain: ChainID?) {
    key = candidate.signer?.key ?? ""
    signer = candidate.name
    title = signer
    modified = HTTPDate(candidate.modified.seconds).text
    self.chain = chain?.number
    // A name that two signers bear selects neither.
    let isUnique = candidates.count { $0.isSigned(by: candidate.name) } == 1
    url = "\(path)?signer=\(PercentEncoding.encode(isUnique ? signer : key))"
  }

  /// Makes a link to the files of one of several chains.
  init(_ files: ChainSelection.OnChain, path: String, signer asked: String?) {
    let newest = files.chosen[0]
    key = newest.signer?.key ?? ""
    signer = files.chosen.map(\.name).joined(separator: " or ")
    title = "\(signer.isEmpty ? "" : "\(signer), ")chain \(files.chain)"
    modified = HTTPDate(newest.modified.seconds).text
    chain = files.chain.number
    url = path + (asked.map { "?signer=\(PercentEncoding.encode($0))" } ?? "")
  }

  /// The value of `Link` (RFC 8288, section 3).
  var fieldValue: String {
    let isPlain = title.utf8.allSatisfy { (0x20..<0x7f).contains($0) }
    let parameter =
      isPlain
      ? "title=\"\(title.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
      : "title*=UTF-8''\(PercentEncoding.encode(title))"
    return "<\(url)>; rel=\"alternate\"; type=\"application/tokenscript+xml\"; \(parameter)"
  }
}

extension Candidate {
  /// The name of the signer, or an empty string.
  fileprivate var name: String { signer?.name ?? "" }
}
