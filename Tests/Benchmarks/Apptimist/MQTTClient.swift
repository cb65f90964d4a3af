/// A client of MQTT 3.1.1 with a persistent session and QoS 1 in both directions.
final class MQTTClient: Client {
  private let topic: [UInt8]
  private let subscribes: Bool
  private var input: [UInt8] = []
  private var lastPacket: UInt16 = 0

  /// Connects to a server.
  ///
  /// - Parameters:
  ///   - port: the server's TCP port on this machine.
  ///   - name: the client identifier, under which the server keeps the session.
  ///   - topic: the topic that it publishes or subscribes to.
  ///   - subscribes: whether it subscribes.
  init(port: UInt16, name: String, topic: String, subscribes: Bool) throws(LoadError) {
    self.topic = Array(topic.utf8)
    self.subscribes = subscribes
    try super.init(port: port)
    let body = field(Array("MQTT".utf8)) + [4, 0, 0, 0] + field(Array(name.utf8))
    append(0x10, body.count)
    outgoing += body
  }

  private func field(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes
  }

  private func append(_ type: UInt8, _ length: Int) {
    outgoing.append(type)
    var rest = length
    repeat {
      outgoing.append(UInt8(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
      rest >>= 7
    } while rest > 0
    wasAppended()
  }

  private func nextPacket() -> [UInt8] {
    lastPacket = lastPacket == .max ? 1 : lastPacket + 1
    return [UInt8(lastPacket >> 8), UInt8(lastPacket & 0xff)]
  }

  override func send(_ data: [UInt8]) {
    append(0x32, 2 + topic.count + 2 + data.count)
    outgoing += field(topic)
    outgoing += nextPacket()
    outgoing += data
  }

  override func received(_ bytes: ArraySlice<UInt8>) throws(LoadError) {
    input += bytes
    var offset = 0
    while let (type, body) = packet(from: &offset) { try take(type, body) }
    input.removeFirst(offset)
  }

  /// Returns the first byte of the next whole packet and the bytes behind its length.
  private func packet(from offset: inout Int) -> (UInt8, ArraySlice<UInt8>)? {
    guard offset + 2 <= input.count else { return nil }
    var length = 0
    var shift = 0
    var start = offset + 1
    while true {
      guard start < input.count else { return nil }
      length |= Int(input[start] & 0x7f) << shift
      shift += 7
      start += 1
      if input[start - 1] < 0x80 { break }
    }
    guard start + length <= input.count else { return nil }
    defer { offset = start + length }
    return (input[offset], input[start..<start + length])
  }

  private func take(_ type: UInt8, _ body: ArraySlice<UInt8>) throws(LoadError) {
    switch type >> 4 {
    case 2:
      guard body.last == 0 else { throw LoadError("the MQTT server refuses") }
      guard subscribes else {
        isReady = true
        return
      }
      append(0x82, 2 + 2 + topic.count + 1)
      outgoing += nextPacket()
      outgoing += field(topic)
      outgoing.append(1)
    case 9: isReady = true
    case 3:
      let name = Int(body[body.startIndex]) << 8 | Int(body[body.startIndex + 1])
      let packet = body.startIndex + 2 + name
      append(0x40, 2)
      outgoing += body[packet..<packet + 2]
      arrived(body[(packet + 2)...])
    default: break
    }
  }
}
