internal import ApptimistProtocol
internal import Cryptography

/// One of the servers that are compared.
///
/// It makes clients that are connected and ready.
protocol Broker {
  /// Makes pairs of a client that sends and one that receives what it sends.
  func pairs(_ count: Int, on loop: LoadLoop) throws -> [(sender: Client, receiver: Client)]
  /// Makes a client that sends and clients that all receive what it sends.
  func audience(_ count: Int, on loop: LoadLoop) throws -> (sender: Client, receivers: [Client])
}

extension Broker {
  /// Waits until clients are ready.
  func wait(for clients: [Client], on loop: LoadLoop) throws {
    for client in clients { loop.add(client) }
    try loop.run { clients.allSatisfy(\.isReady) }
  }
}

struct Apptimist: Broker {
  let port: UInt16
  /// The port of the node at which those of a pair are who receive.
  let receivers: UInt16
  let identity: ServiceIdentity

  init(port: UInt16, receivers: UInt16? = nil) throws {
    self.port = port
    self.receivers = receivers ?? port
    identity = try ServiceIdentity(ofServiceAt: port)
  }

  func device(
    of user: UserKeys, to recipient: EncryptionPublicKey, at port: UInt16? = nil
  ) throws -> ApptimistClient {
    try ApptimistClient(
      port: port ?? self.port, identity: identity, user: user, recipient: recipient)
  }

  func pairs(_ count: Int, on loop: LoadLoop) throws -> [(sender: Client, receiver: Client)] {
    let pairs = try (0..<count).map { _ in
      let (one, other) = (UserKeys(), UserKeys())
      return (
        sender: try device(of: one, to: other.key) as Client,
        receiver: try device(of: other, to: one.key, at: receivers) as Client
      )
    }
    try wait(for: pairs.flatMap { [$0.sender, $0.receiver] }, on: loop)
    return pairs
  }

  func audience(_ count: Int, on loop: LoadLoop) throws -> (sender: Client, receivers: [Client]) {
    let author = UserKeys()
    let users = (0..<count).map { _ in UserKeys() }
    let sender = try device(of: author, to: author.key)
    let receivers = try users.map { try device(of: $0, to: author.key) }
    try wait(for: [sender] + receivers, on: loop)
    sender.makeForum(UserKeys(), subscribers: users.map(\.key))
    try loop.run { sender.isReady }
    return (sender, receivers)
  }
}

/// Apptimist by version 2 of its protocol.
struct ApptimistVersion2: Broker {
  let port: UInt16
  let identity: ServiceIdentity

  init(port: UInt16) throws {
    self.port = port
    identity = try ServiceIdentity(ofServiceAt: port)
  }

  private func device(
    of user: UserKeys, to recipient: EncryptionPublicKey
  ) throws -> Version2Client {
    try Version2Client(port: port, identity: identity, user: user, recipient: recipient)
  }

  func pairs(_ count: Int, on loop: LoadLoop) throws -> [(sender: Client, receiver: Client)] {
    let pairs = try (0..<count).map { _ in
      let (one, other) = (UserKeys(), UserKeys())
      return (
        sender: try device(of: one, to: other.key) as Client,
        receiver: try device(of: other, to: one.key) as Client
      )
    }
    try wait(for: pairs.flatMap { [$0.sender, $0.receiver] }, on: loop)
    return pairs
  }

  func audience(_ count: Int, on loop: LoadLoop) throws -> (sender: Client, receivers: [Client]) {
    let author = UserKeys()
    let users = (0..<count).map { _ in UserKeys() }
    let sender = try device(of: author, to: author.key)
    let receivers = try users.map { try device(of: $0, to: author.key) }
    try wait(for: [sender] + receivers, on: loop)
    sender.makeForum(UserKeys(), subscribers: users.map(\.key))
    try loop.run { sender.isReady }
    return (sender, receivers)
  }
}

struct MQTT: Broker {
  let port: UInt16
  /// Distinguishes this run from others, as sessions persist.
  private let run = String(UInt32.random(in: 0 ... .max), radix: 16)

  init(port: UInt16) { self.port = port }

  private func client(_ name: String, _ topic: String, subscribes: Bool) throws -> Client {
    try MQTTClient(
      port: port, name: "\(name)-\(run)", topic: "\(topic)-\(run)", subscribes: subscribes)
  }

  func pairs(_ count: Int, on loop: LoadLoop) throws -> [(sender: Client, receiver: Client)] {
    let pairs = try (0..<count).map { index in
      (
        sender: try client("sender\(index)", "queue\(index)", subscribes: false),
        receiver: try client("receiver\(index)", "queue\(index)", subscribes: true)
      )
    }
    try wait(for: pairs.flatMap { [$0.sender, $0.receiver] }, on: loop)
    return pairs
  }

  func audience(_ count: Int, on loop: LoadLoop) throws -> (sender: Client, receivers: [Client]) {
    let sender = try client("author", "forum", subscribes: false)
    let receivers = try (0..<count).map {
      try client("reader\($0)", "forum", subscribes: true)
    }
    try wait(for: [sender] + receivers, on: loop)
    return (sender, receivers)
  }
}

struct NATS: Broker {
  let port: UInt16
  /// Whether each pair has a stream of its own, instead of one stream for all pairs.
  let streamPerPair: Bool
  /// Whether readers are durable consumers, instead of ephemeral ones.
  let isDurable: Bool
  private let run = String(UInt32.random(in: 0 ... .max), radix: 16)

  init(port: UInt16, streamPerPair: Bool = false, isDurable: Bool = true) {
    self.port = port
    self.streamPerPair = streamPerPair
    self.isDurable = isDurable
  }

  private func client(_ subject: String) throws -> Client {
    try NATSClient(port: port, subject: subject)
  }

  private func make(_ stream: String, _ subjects: String, on loop: LoadLoop) throws {
    let maker = try NATSClient(
      port: port, subject: "", requests: [NATSClient.stream(stream, subjects: subjects)])
    try wait(for: [maker], on: loop)
  }

  private func receiver(_ index: Int, of stream: String, subject: String) throws -> Client {
    let delivery = "to.\(run).\(index)"
    return try NATSClient(
      port: port, subject: subject, deliverySubject: delivery,
      requests: [
        NATSClient.consumer(
          isDurable ? "c\(index)" : nil, of: stream, subject: subject, deliverTo: delivery)
      ])
  }

  func pairs(_ count: Int, on loop: LoadLoop) throws -> [(sender: Client, receiver: Client)] {
    func stream(_ index: Int) -> String { streamPerPair ? "q\(run)-\(index)" : "q\(run)" }
    if streamPerPair {
      for index in 0..<count { try make(stream(index), "q.\(run).\(index)", on: loop) }
    } else {
      try make(stream(0), "q.\(run).*", on: loop)
    }
    let pairs = try (0..<count).map { index in
      let subject = "q.\(run).\(index)"
      return (
        sender: try client(subject),
        receiver: try receiver(index, of: stream(index), subject: subject)
      )
    }
    try wait(for: pairs.flatMap { [$0.sender, $0.receiver] }, on: loop)
    return pairs
  }

  func audience(_ count: Int, on loop: LoadLoop) throws -> (sender: Client, receivers: [Client]) {
    let subject = "forum.\(run)"
    try make("f\(run)", subject, on: loop)
    let sender = try client(subject)
    let receivers = try (0..<count).map { try receiver($0, of: "f\(run)", subject: subject) }
    try wait(for: [sender] + receivers, on: loop)
    return (sender, receivers)
  }
}
