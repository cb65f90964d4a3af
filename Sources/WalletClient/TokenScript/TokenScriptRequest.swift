public import Ethereum
internal import HTTPProtocol

/// A wallet's request for the TokenScript of one contract on one network, in a namespace that it understands.
public struct TokenScriptRequest: Sendable {
  /// A reason for which a text is not taken for a contract's address.
  public enum AddressError: Error, Sendable, Equatable {
    /// The text is not `0x` and 40 hexadecimal digits.
    case malformed
  }

  /// The address of the contract.
  public let address: EthereumAddress
  /// The address as the wallet spells it: `0x` and 40 digits of any case, and nothing else. The URL and the cached file
  /// are named so.
  public let spelling: String
  /// The chain. Only files that name the contract on it are taken, and the cache has a folder for each.
  public let network: ChainID
  /// The namespaces in the order in which they are asked for. If there are none, the repository chooses.
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
    (self.network, self.namespaces, self.signer) = (network, namespaces, signer)
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
