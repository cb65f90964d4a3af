internal import Cryptography
internal import Ethereum
internal import Formats
internal import HTTPProtocol
internal import Platform
internal import Routing
internal import TokenScriptRepoResources
internal import WebApps

/// The responses with a file at one URL, prepared by the first request, so that the others allocate nothing.
final class PreparedFile: Sendable {
  /// The responses in one content coding, without their bodies. A class, as a copy of a structure would retain each part.
  private final class Coded: Sendable {
    let validators: Validators
    let plain: Response
    let tokenScript: Response
    let notModified: Response

    /// Prepares the responses.
    ///
    /// - Parameters:
    ///   - coding: the coding's name and the name of its encoder, or nil for the plain file.
    ///   - isTokenScript: whether the type may be `application/tokenscript+xml`.
    init(
      _ coding: (name: String, encoder: String)?, _ tag: String, _ modified: HTTPDate,
      _ headers: ResponseHeaders, isTokenScript: Bool
    ) {
      let entityTag = EntityTag(coding.map { "\(tag)-\($0.encoder)" } ?? tag)
      validators = Validators(entityTag: entityTag, lastModified: modified)
      var validated = headers.common
      validated.append(.entityTag, entityTag.text)
      validated.append(.lastModified, modified.text)
      notModified = Response(.notModified, fields: validated)
      if let coding { validated.append(.contentEncoding, coding.name) }
      var plain = validated
      plain.append(contentsOf: ResponseHeaders.xml)
      self.plain = Response(.ok, fields: plain)
      guard isTokenScript else {
        tokenScript = self.plain
        return
      }
      validated.append(contentsOf: ResponseHeaders.tokenScript)
      tokenScript = Response(.ok, fields: validated)
    }
  }

  /// The responses in all codings.
  private final class Codings: Sendable {
    let identity: Coded
    let gzip: Coded
    let brotli: Coded

    init(_ coded: (_ coding: (name: String, encoder: String)?) -> Coded) {
      identity = coded(nil)
      gzip = coded(("gzip", Compression.gzipEncoder))
      brotli = coded(("br", Compression.brotliEncoder))
    }
  }

  private let content: FileContent
  private let modified: Timestamp
  private let headers: ResponseHeaders
  private let isTokenScript: Bool
  private let prepared = LazyReference<Codings>()

  /// Makes responses without preparing them: an index has many files that are never requested.
  ///
  /// - Parameters:
  ///   - isTokenScript: whether the type may be `application/tokenscript+xml`.
  init(
    _ content: FileContent, modified: Timestamp, _ headers: ResponseHeaders,
    isTokenScript: Bool = true
  ) {
    self.content = content
    self.modified = modified
    self.headers = headers
    self.isTokenScript = isTokenScript
  }

  private var codings: Codings {
    if let codings = prepared.value { return codings }
    let tag = content.digest.hex
    let date = HTTPDate(modified.seconds)
    return prepared.keep(Codings { Coded($0, tag, date, headers, isTokenScript: isTokenScript) })
  }

  /// Responds to a request for the file, in the coding that the client prefers among those that are there.
  ///
  /// - Returns: 200 with the file, 304, or 412.
  /// - Throws: ``UnreadContent`` if the file's bytes are needed and not read yet.
  func response(to head: RequestHead, now: HTTPDate) throws(UnreadContent) -> Response {
    let (coded, variant) = choose(AcceptList(head, .acceptEncoding))
    switch Preconditions.evaluate(head, coded.validators, now: now) {
    case .notModified: return coded.notModified
    case .failed: return Response(.preconditionFailed, fields: headers.errors)
    case .proceed: break
    }
    guard let bytes = variant ?? content.bytes else { throw UnreadContent(content: content) }
    let isTokenScript = AcceptList(head, .accept).prefers(
      "application/tokenscript+xml", to: "text/xml")
    var response = isTokenScript ? coded.tokenScript : coded.plain
    response.body = .bytes(bytes)
    return response
  }

  /// Chooses the coding with the highest weight, and among equals the one with the fewest bytes.
  ///
  /// The plain content has the least weight unless the client names it, and is chosen if nothing else is acceptable.
  /// - Returns: the coding, and its bytes unless it is the plain content.
  private func choose(_ accept: AcceptList) -> (Coded, Bytes?) {
    let codings = codings
    guard !accept.isAbsent, let variants = content.variants else { return (codings.identity, nil) }
    var best: (coded: Coded, bytes: Bytes?) = (codings.identity, nil)
    var weight = max(1, accept.quality(of: "identity") ?? accept.quality(of: "*") ?? 0)
    func consider(_ coded: Coded, _ bytes: Bytes?, _ quality: Int) {
      guard let bytes,
        quality > weight
          || quality == weight && bytes.count < best.bytes?.count ?? content.size
      else { return }
      best = (coded, bytes)
      weight = quality
    }
    consider(codings.gzip, variants.gzip, accept.quality(ofCoding: "gzip"))
    consider(codings.brotli, variants.brotli, accept.quality(ofCoding: "br"))
    return best
  }
}

/// The error of a response that needs bytes which aren't read yet.
struct UnreadContent: Error {
  /// The content.
  let content: FileContent
}

/// The response to requests for one contract and version, except the parts that depend on the request.
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
