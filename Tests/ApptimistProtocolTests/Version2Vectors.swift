internal import ApptimistProtocol
internal import Cryptography
internal import FoundationEssentials
internal import Testing

/// The published vectors of version 2, as they are in `Vectors/version2.json`.
struct Version2Vectors: Decodable {
  struct Pair: Decodable {
    let encryptionSecret: Bytes
    let encryptionKey: Bytes
    let authenticationSeed: Bytes
    let authenticationKey: Bytes

    func encryption() throws -> EncryptionKeyPair {
      try #require(EncryptionKeyPair(secret: encryptionSecret.bytes, for: .session))
    }

    func authentication() throws -> AuthenticationKeyPair {
      try #require(AuthenticationKeyPair(seed: authenticationSeed.bytes, for: .session))
    }
  }
  struct Ephemeral: Decodable {
    let secret: Bytes
    let key: Bytes

    func pair() throws -> EncryptionKeyPair {
      try #require(EncryptionKeyPair(secret: secret.bytes, for: .session))
    }
  }
  struct Keys: Decodable {
    let service: Pair
    let anne: Pair
    let bert: Pair
    let cleo: Pair
    let forum: Pair
    let deviceEphemeral: Ephemeral
    let serviceEphemeral: Ephemeral
  }
  struct Service: Decodable {
    let versions: [UInt8]
    let signature2Over: Bytes
    let signature2: Bytes
  }
  struct Handshake: Decodable {
    let subprotocols: String
    let offered: [UInt8]
    let h: Bytes
    let deviceKey: Bytes
    let serviceKey: Bytes
    let helloHeader: Bytes
    let helloFrame: Bytes
    let firstMessage: Bytes
  }
  struct Sealed: Decodable {
    let name: String
    let kind: UInt8
    let receiverSecret: Bytes
    let toPubEncrKey: Bytes
    let fromPubEncrKey: Bytes
    let recipientPubEncrKey: Bytes
    let time: UInt64
    let gSecret: Bytes
    let plain: Bytes
    let eData: Bytes
    let header1: Bytes
    let messageID: Bytes
    let signature: Bytes?
    let signer: Bytes?
    let content: Bytes?
  }
  struct Proof: Decodable {
    let signed: Bytes?
    let signature: Bytes?
    let value: Bytes?
  }
  struct PDUVector: Decodable {
    let name: String
    let sender: String
    let n: UInt64
    let header: Bytes
    let data: Bytes
    let frame: Bytes
    let box: Bytes
  }
  /// The inputs that must be refused; `what` decides which members there are.
  struct Refused: Decodable {
    let what: String
    let reason: String
    let result: String
    let key: Bytes?
    let n: UInt64?
    let box: Bytes?
    let offered: [UInt8]?
    let firstMessage: Bytes?
    let frame: Bytes?
    let header: Bytes?
    let signed: Bytes?
    let signature: Bytes?
    let value: Bytes?
    let kind: UInt8?
    let sender: Bytes?
    let receiverSecret: Bytes?
    let toPubEncrKey: Bytes?
    let fromPubEncrKey: Bytes?
    let time: UInt64?
    let eData: Bytes?
    let signer: Bytes?
    /// Whether it opens all the same.
    let opens: Bool?
  }
  struct MessageIDs: Decodable {
    let postForCleo: Bytes
  }

  let keys: Keys
  let service: Service
  let handshakes: [Handshake]
  let sealed: [Sealed]
  let messageIDs: MessageIDs
  let version1Box: Sealed1
  let proofs: [String: Proof]
  let pdus: [PDUVector]
  let refuse: [Refused]

  struct Sealed1: Decodable {
    let eData: Bytes
    let header1: Bytes
    let messageID: Bytes
  }
}
