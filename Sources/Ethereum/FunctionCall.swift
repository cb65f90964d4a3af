internal import EthereumResources
internal import Platform
internal import Cryptography

/// A call of a contract's function, as the contract ABI of Solidity encodes it.
public struct FunctionCall: Hashable, Sendable {
  /// The call data: four bytes that select the function, and the arguments.
  public let data: [UInt8]

  private init(data: [UInt8]) { self.data = data }

  private init(_ signature: String, _ arguments: [UInt8] = []) {
    data = Keccak256.hash(Array(signature.utf8)).bytes.prefix(4) + arguments
  }

  /// `owner()` of ERC-173.
  public static let owner = FunctionCall("owner()")

  /// `scriptURI()` of ERC-5169.
  public static let scriptURI = FunctionCall("scriptURI()")

  /// `name()` of tokens.
  public static let name = FunctionCall("name()")

  /// `hasRole(bytes32,address)` of AccessControl, for the roles that stand for a contract: its administrator, and the one
  /// of its scripts.
  public static func hasRoles(_ account: EthereumAddress) -> [FunctionCall] {
    [[UInt8](repeating: 0, count: 32), Keccak256.hash(Array("TS_SCRIPT_ADMIN".utf8)).bytes].map {
      FunctionCall("hasRole(bytes32,address)", $0 + word(account))
    }
  }

  /// `scriptURI(address)` of ERC-7738's registry.
  public static func scriptURI(of contract: EthereumAddress) -> FunctionCall {
    FunctionCall("scriptURI(address)", word(contract))
  }

  /// `scriptData(address)` of the registry in use.
  public static func scriptData(of contract: EthereumAddress) -> FunctionCall {
    FunctionCall("scriptData(address)", word(contract))
  }

  /// `ownerOf(uint256)` of ERC-721.
  ///
  /// - Parameter token: the number of the token in 32 bytes.
  public static func ownerOf(_ token: [UInt8]) -> FunctionCall {
    FunctionCall("ownerOf(uint256)", token)
  }

  /// `balanceOf(address)` of ERC-20 and ERC-721.
  public static func balanceOf(_ holder: EthereumAddress) -> FunctionCall {
    FunctionCall("balanceOf(address)", word(holder))
  }

  /// `balanceOf(address,uint256)` of ERC-1155.
  ///
  /// - Parameters:
  ///   - token: the number of the kind of tokens in 32 bytes.
  public static func balanceOf(_ holder: EthereumAddress, of token: [UInt8]) -> FunctionCall {
    FunctionCall("balanceOf(address,uint256)", word(holder) + token)
  }

  /// `setScriptURI(string[])` of ERC-5169.
  public static func setScriptURI(_ uris: [String]) -> FunctionCall {
    var offsets: [UInt8] = []
    var strings: [UInt8] = []
    for uri in uris {
      offsets += word(32 * uris.count + strings.count)
      strings += padded(Array(uri.utf8))
    }
    return FunctionCall("setScriptURI(string[])", word(32) + word(uris.count) + offsets + strings)
  }

  /// `isValidSignature(bytes32,bytes)` of ERC-1271, whose result ``ReturnData/isGoodSignature`` reads.
  ///
  /// - Parameters:
  ///   - hash: the 32 bytes that were signed.
  public static func isValidSignature(_ hash: [UInt8], _ signature: [UInt8]) -> FunctionCall {
    FunctionCall("isValidSignature(bytes32,bytes)", hash + word(64) + padded(signature))
  }

  /// The end of a signature by a contract that may not be there yet (ERC-6492).
  public static let undeployedMark = [[UInt8]](repeating: [0x64, 0x92], count: 16).flatMap { $0 }

  /// The creation of ERC-6492's `ValidateSigOffchain`, whose result ``ReturnData/isValidation`` reads.
  ///
  /// - Parameters:
  ///   - hash: the 32 bytes that were signed.
  public static func validation(
    by signer: EthereumAddress, _ hash: [UInt8], _ signature: [UInt8]
  ) -> FunctionCall {
    let code = Hex.decode(Resource(ethereum_ValidateSigOffchain_hex()).bytes) ?? []
    return FunctionCall(data: code + word(signer) + hash + word(96) + padded(signature))
  }

  /// A number of bytes, and the bytes with zeros behind them.
  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    word(bytes.count) + bytes + [UInt8](repeating: 0, count: (32 - bytes.count % 32) % 32)
  }

  private static func word(_ address: EthereumAddress) -> [UInt8] {
    [UInt8](repeating: 0, count: 12) + address.bytes
  }

  /// A number of at least 0 in 32 bytes, big-endian.
  private static func word(_ number: Int) -> [UInt8] {
    (0..<32).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }
  }
}
