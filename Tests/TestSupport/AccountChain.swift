internal import Cryptography
internal import Foundation
internal import FoundationNetworking

/// A chain in a real virtual machine (eth-tester with py-evm), where one key signs for two contracts: a wallet that is there,
/// and one that a factory would make; and with a token of all kinds.
package final class AccountChain: Sendable {
  private static let program = TestTools.program("python")
  /// Whether the machine is there.
  package static let isThere = program != nil

  private let process: ChildProcess
  /// The URL of the endpoint.
  package let url: String
  /// The address of the wallet.
  package let wallet: String
  /// The address of the wallet that would be made.
  package let future: String
  /// The address of the token.
  package let token: String
  private let factory: [UInt8]
  private let creation: [UInt8]

  /// Starts the machine.
  ///
  /// - Parameter owner: the address of the key.
  /// - Throws: if it doesn't start.
  package init(owner: String) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().path + "/account_chain.py"
    process = try ChildProcess(Self.program ?? "", [script, owner], input: nil)
    let words = try await process.line(with: "ready ", on: .output).split(separator: " ").map {
      String($0)
    }
    url = "http://127.0.0.1:\(words[1])"
    (wallet, future) = (words[2], words[3])
    factory = Hex.decode(words[4].utf8.dropFirst(2)) ?? []
    creation = Hex.decode(words[5].utf8) ?? []
    token = words[6]
  }

  /// Puts a signature of the key into one of the wallet that would be made (ERC-6492).
  package func wrapped(_ signature: [UInt8]) -> [UInt8] {
    let first = Self.padded(creation)
    return [UInt8](repeating: 0, count: 12) + factory + Self.word(96) + Self.word(96 + first.count)
      + first + Self.padded(signature) + [[UInt8]](repeating: [0x64, 0x92], count: 16).joined()
  }

  /// Returns the number of calls so far.
  package func calls() async throws -> Int {
    let (data, _) = try await URLSession.shared.data(from: try Self.required(URL(string: url)))
    return Int(String(decoding: data, as: UTF8.self)) ?? -1
  }

  /// Gives an address units of the token, or a number an owner.
  ///
  /// - Parameters:
  ///   - slot: the address in hexadecimal digits, with the number of a kind of tokens added; or the number of a token.
  ///   - value: the number of units, or the owner.
  package func set(_ slot: String, to value: String) async throws {
    let words = [slot, value].map {
      let digits = $0.lowercased().replacing("0x", with: "")
      return String(repeating: "0", count: 64 - digits.count) + digits
    }
    var request = URLRequest(url: try Self.required(URL(string: url + "/set")))
    request.httpMethod = "PUT"
    request.httpBody = Data(words.joined().utf8)
    _ = try await URLSession.shared.data(for: request)
  }

  /// Ends the machine.
  package func stop() async throws {
    process.closeInput()
    _ = try await process.ended()
  }

  private static func required(_ url: URL?) throws -> URL {
    guard let url else { throw URLError(.badURL) }
    return url
  }

  private static func word(_ number: Int) -> [UInt8] {
    (0..<32).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0 }
  }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    word(bytes.count) + bytes + [UInt8](repeating: 0, count: (32 - bytes.count % 32) % 32)
  }
}
