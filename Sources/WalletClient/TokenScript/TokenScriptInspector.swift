internal import Ethereum
public import Platform
internal import XMLSecurity

/// A TokenScript that was verified, with its signer.
public struct SignedTokenScript: Sendable, Equatable {
  /// The degree to which the signer's name can be believed.
  public enum Trust: Sendable, Equatable {
    /// Its certificate leads to a root.
    case trusted
    /// Its certificate leads to none, for a reason in words: the name is a mere claim, the key is not.
    case untrusted(reason: String)
    /// No roots were given to check it against.
    case unchecked
  }

  /// The version it is written in.
  public let namespace: TokenScriptNamespace
  /// The common name of the last signer's certificate; nil for a bare key.
  public let signer: String?
  /// The last signer's key: an Ethereum address, or the SHA-256 of the SubjectPublicKeyInfo in hexadecimal digits.
  public let key: String
  /// The degree to which ``signer`` can be believed.
  public let trust: Trust
  /// The time of the signature, or nil if the signature states none or one in the future.
  public let signingTime: Timestamp?
}

/// A reason for which a wallet rejects a file.
public struct TokenScriptRejection: Error, Sendable, Equatable, CustomStringConvertible {
  /// The reason, for programs.
  public enum Code: String, Sendable {
    /// The file is no XML, or more of it than a wallet reads.
    case malformed
    /// The file is no TokenScript, or is in another namespace than the requested one.
    case namespace
    /// The file doesn't describe the contract's tokens.
    case contract
    /// The file isn't signed, or a signature doesn't hold.
    case signature
    /// The file is signed by another signer than the requested one.
    case signer
    /// The schema of the file's version doesn't allow it.
    case schema
    /// The bytes aren't those that the contract's URI names by their digest.
    case content
  }

  /// The reason, for programs.
  public let code: Code
  /// The reason, for people; it may quote the file.
  public let message: String
  /// The reason, for people.
  public var description: String { message }
}

/// Decides whether bytes are the requested TokenScript.
///
/// The server is trusted in nothing: the namespace, the contract, the network, the signature and, if one was asked for,
/// the signer are read from the file itself.
struct TokenScriptInspector: Sendable {
  /// The roots that certificates are checked against, or nil if they are not checked.
  let roots: TrustStore?
  /// The check against schemas, or nil for none.
  let schemaCheck: TokenScriptAgent.SchemaCheck?
  private let verifier = SignatureVerifier()

  /// Inspects a file; takes some milliseconds.
  ///
  /// - Parameters:
  ///   - bytes: the whole file, at most 8 MiB.
  ///   - request: the request.
  ///   - namespace: the requested namespace, or nil for any that the wallet understands.
  ///   - now: the time.
  /// - Returns: the verified file.
  /// - Throws: ``TokenScriptRejection``.
  func inspect(
    _ bytes: [UInt8], for request: TokenScriptRequest, in namespace: TokenScriptNamespace?,
    now: Timestamp
  ) throws(TokenScriptRejection) -> SignedTokenScript {
    let document: XMLDocument
    do throws(XMLError) { document = try XMLDocument(parsing: bytes) } catch {
      throw TokenScriptRejection(code: .malformed, message: "it can't be read: \(error)")
    }
    let root = document.root
    guard let found = root.namespace.flatMap({ TokenScriptNamespace(uri: $0) }) else {
      throw TokenScriptRejection(
        code: .namespace, message: "its root element is in no TokenScript namespace")
    }
    guard
      namespace.map({ $0 == found })
        ?? (request.namespaces.isEmpty || request.namespaces.contains(found))
    else {
      throw TokenScriptRejection(
        code: .namespace, message: "it is in the namespace \(found), which was not requested")
    }
    guard Self.describes(root, request.address, on: request.network) else {
      throw TokenScriptRejection(
        code: .contract,
        message: "\(request.address) on chain \(request.network) is not among its origins")
    }
    let signatures: [VerifiedSignature]
    do throws(SignatureError) { signatures = try verifier.verify(document) } catch {
      throw TokenScriptRejection(code: .signature, message: "its signature fails: \(error)")
    }
    guard let last = signatures.last else {
      throw TokenScriptRejection(code: .signature, message: "it is not signed")
    }
    guard request.signer.map(last.isSigned) ?? true else {
      let name = last.certificate?.commonName ?? last.key.identifier
      throw TokenScriptRejection(code: .signer, message: "it is signed by \(name) instead")
    }
    if let problem = schemaCheck?(bytes, found) {
      throw TokenScriptRejection(code: .schema, message: problem)
    }
    return describe(last, found, now: now)
  }

  private func describe(
    _ signature: VerifiedSignature, _ namespace: TokenScriptNamespace, now: Timestamp
  ) -> SignedTokenScript {
    let time = signature.signingTime.flatMap { $0 <= now ? $0 : nil }
    let trust: SignedTokenScript.Trust =
      switch roots?.check(signature, at: time) {
      case .trusted: .trusted
      case .untrusted(let reason): .untrusted(reason: reason)
      case nil: .unchecked
      }
    return SignedTokenScript(
      namespace: namespace, signer: signature.certificate?.commonName,
      key: signature.key.identifier, trust: trust, signingTime: time)
  }

  /// Returns whether a file describes the tokens of the contract at an address.
  ///
  /// Only a contract that `origins` names counts: the file merely uses the others. An address without a network is on the
  /// main one.
  private static func describes(
    _ root: XMLElement, _ address: EthereumAddress, on network: ChainID
  ) -> Bool {
    guard root.name == "token" else { return false }
    let namespace = root.namespace
    let origins = root.children(named: "origins", in: namespace)
      .flatMap { $0.children(named: "ethereum", in: namespace) }
      .compactMap { $0.attribute("contract") }
    let names = Set(origins)
    return root.children(named: "contract", in: namespace).contains { contract in
      guard let name = contract.attribute("name"), names.contains(name) else { return false }
      return contract.children(named: "address", in: namespace).contains { element in
        let named = element.attribute("network").map { ChainID(xmlInteger: $0) } ?? .main
        return named == network && EthereumAddress(element.text.trimmingXMLSpace) == address
      }
    }
  }
}

extension VerifiedSignature {
  /// Returns whether the signature is a certain signer's.
  ///
  /// - Parameter signer: the common name of a certificate or a key identifier, in any case.
  func isSigned(by signer: String) -> Bool {
    let wanted = signer.lowercased()
    return certificate?.commonName?.lowercased() == wanted
      || key.identifier.lowercased() == wanted
  }
}
