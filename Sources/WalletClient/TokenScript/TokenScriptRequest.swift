public import Ethereum

internal import Formats
internal import HTTPProtocol

/// A wallet's request for the TokenScript of one contract on one network, in a namespace that it understands.
public struct TokenScriptRequest: Sendable {
  /// A reason for which a text is no contract's address.
  public enum AddressError: Error, Sendable, Equatable {
    /// The text is not `0x` and 40 hexadecimal digits.
    case malformed
  }

  /// The address of the contract.
  public let address: EthereumAddress
  /// The address as the wallet spells it: `0x` and 40 digits of any case, and nothing else. The URL and the cached file
  /// are named so.
  public let spelling: String
  /// The chain. Only files that name the contract on it are accepted, and the cache has a folder for each.
  public let network: ChainID
  /// The namespaces in the order of the requests. If there are none, the repository chooses.
  public let namespaces: [TokenScriptNamespace]
  /// The wanted file's signer, as the common name of a certificate or a key identifier, or nil for anybody.
  public let signer: String?

  /// Makes a request.
  ///
  /// - Parameters:
  ///   - address: the contract: `0x` and 40 hexadecimal digits.
  ///   - network: the chain.
  ///   - namespaces: those that the wallet understands, the preferred one first; if there are none, the repository
  ///     chooses.
  ///   - signer: a certificate's common name or a key identifier, or nil if anybody's file will do.
  /// - Throws: ``AddressError``.
  public init(
    address: String, network: ChainID, namespaces: [TokenScriptNamespace] = [],
    signer: String? = nil
  ) throws(AddressError) {
    guard let parsed = EthereumAddress(address) else { throw .malformed }
    self.address = parsed
    spelling = address
    self.network = network
    self.namespaces = namespaces
    self.signer = signer
  }

  /// Returns the URL of the file.
  ///
  /// - Parameters:
  ///   - namespace: the namespace, or nil to let the repository choose.
  ///   - repository: the repository's URL, without a slash at its end.
  func url(in namespace: TokenScriptNamespace?, of repository: String) -> String {
    let folder = namespace.map { "\($0.path)/" } ?? ""
    let query = signer.map { "&signer=\(PercentEncoding.encode($0))" } ?? ""
    return "\(repository)/\(folder)\(spelling)?chain=\(network)\(query)"
  }
}

/// A version of the TokenScript language: the year and month that its XML namespace names.
///
/// A wallet lists the versions that it understands, the preferred one first.
public struct TokenScriptNamespace: Hashable, Sendable, CustomStringConvertible {
  /// `YYYY/MM`, as it stands in the repository's URLs.
  public let path: String

  /// The URI of the root element's namespace.
  public var uri: String { "http://tokenscript.org/\(path)/tokenscript" }

  /// The same as ``path``.
  public var description: String { path }

  /// Reads a version as people write it.
  ///
  /// - Parameter text: `YYYY/MM`, with a month from 01 to 12.
  /// - Returns: the version, or nil for anything else.
  public init?(_ text: some StringProtocol) {
    path = String(text)
    let fields = path.utf8.split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard fields.map(\.count) == [4, 2], fields.joined().allSatisfy(digits.contains),
      let month = Int(String(decoding: fields[1], as: UTF8.self)), (1...12).contains(month)
    else { return nil }
  }

  /// Reads a version from the namespace of a root element.
  ///
  /// - Parameter uri: `http://tokenscript.org/<YYYY>/<MM>/tokenscript`.
  /// - Returns: the version, or nil for any other URI.
  public init?(uri: String) {
    let start = "http://tokenscript.org/"
    let end = "/tokenscript"
    guard uri.hasPrefix(start), uri.hasSuffix(end) else { return nil }
    self.init(uri.dropFirst(start.count).dropLast(end.count))
  }
}

/// A wallet's description of itself in every request, from which a repository can choose a file that this wallet reads.
public struct WalletIdentity: Sendable, Equatable {
  /// The platforms that the specification knows.
  public enum Platform: String, Sendable, CaseIterable {
    case iOS
    case android = "Android"
  }

  /// `X-Client-Name`: the wallet's name.
  public var name: String
  /// `X-Client-Version`: the wallet's version, such as `1.0.3`.
  public var version: String
  /// `X-Platform-Name`: the system that the wallet runs on.
  public var platform: Platform
  /// `X-Platform-Version`: the version of that system, such as `11.1.2`.
  public var platformVersion: String

  /// Makes an identity.
  ///
  /// - Parameters:
  ///   - name: the wallet's name.
  ///   - version: the wallet's version.
  ///   - platform: the system it runs on.
  ///   - platformVersion: that system's version.
  public init(
    name: String = "awd", version: String = "1.0", platform: Platform = .android,
    platformVersion: String = "14"
  ) {
    self.name = name
    self.version = version
    self.platform = platform
    self.platformVersion = platformVersion
  }

  /// The five header fields of every request.
  var fields: HeaderFields {
    var fields = HeaderFields()
    fields.append(.accept, "text/xml; charset=UTF-8")
    fields.append(FieldName("X-Client-Name"), name)
    fields.append(FieldName("X-Client-Version"), version)
    fields.append(FieldName("X-Platform-Name"), platform.rawValue)
    fields.append(FieldName("X-Platform-Version"), platformVersion)
    return fields
  }
}

/// The parts of a URL of a repository's file: version, chain, contract and signer.
package struct TokenScriptLocation: Sendable, Equatable {
  /// The version, or nil if the URL leaves it to the repository.
  package private(set) var namespace: TokenScriptNamespace?
  /// The chain, or nil if the URL names none.
  package private(set) var chain: ChainID?
  /// The contract.
  package let contract: EthereumAddress
  /// The signer, or nil for anybody.
  package let signer: String?

  /// Reads a URL: `[/<YYYY>/<MM>][/chain/<id>]/<address>[.tsml][?chain=<id>&signer=<name>]`.
  ///
  /// - Parameters:
  ///   - text: the URL, without a fragment.
  ///   - repository: the repository's URL, without a slash at its end.
  /// - Returns: nil for anything else, such as the URL of another repository.
  package init?(_ text: String, at repository: String) {
    guard let url = WebURL(text, schemes: ["http", "https"]) else { return nil }
    let port = url.port.map { ":\($0)" } ?? ""
    let whole = "\(url.scheme)://\(url.host)\(port)\(url.path)"
    guard whole.hasPrefix("\(repository)/") else { return nil }
    var folders = whole.dropFirst(repository.count + 1).split(
      separator: "/", omittingEmptySubsequences: false)
    let file = folders.removeLast()
    let suffix = file.hasSuffix(".tsml") ? ".tsml" : ""
    var chainName: Substring?
    if folders.count >= 2, folders[folders.count - 2] == "chain" {
      chainName = folders.removeLast()
      folders.removeLast()
    }
    guard folders.isEmpty || folders.count == 2,
      let contract = EthereumAddress(String(file.dropLast(suffix.count))),
      let form = URLEncodedForm(Array((url.query ?? "").utf8)[...]),
      form.pairs.allSatisfy({ ["chain", "signer"].contains($0.name) }),
      form.pairs.count == Set(form.pairs.map(\.name)).count
    else { return nil }
    namespace = folders.isEmpty ? nil : TokenScriptNamespace(folders.joined(separator: "/"))
    guard namespace != nil || folders.isEmpty else { return nil }
    var chains = [chainName].compactMap(\.self).map { ChainID($0) }
    chains += form.pairs.filter { $0.name == "chain" }.map { ChainID($0.value) }
    guard Set(chains).count <= 1, !chains.contains(nil) else { return nil }
    self.contract = contract
    chain = chains.first ?? nil
    signer = form["signer"].flatMap { $0.isEmpty ? nil : $0 }
  }
}
