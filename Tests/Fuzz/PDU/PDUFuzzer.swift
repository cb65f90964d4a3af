internal import ApptimistProtocol
internal import Fuzzing
internal import Formats

/// Takes these bytes as a header in clear and as a WebSocket message: nothing that a peer sends may crash, overrun or hang,
/// and a PDU that is taken is written again as it was.
@main enum PDUFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    checkHeader(bytes)
    checkFrame(bytes)
  }
}

private func checkHeader(_ bytes: [UInt8]) {
  do throws(PDUError) {
    let pdu = try PDU(decoding: bytes)
    precondition(pdu.encoded() == bytes)
    precondition(fails(bytes + [0]) && fails(bytes.dropLast()))
    checkFields(pdu)
  } catch {
    switch error {
    case .unknownVersion(let version): precondition(version != 1 && version == bytes[0])
    case .unknownType(let type):
      precondition(bytes[0] == 1 && bytes[1] == type && !(1...18).contains(type))
    case .malformed(let fault): precondition((0...bytes.count).contains(fault.offset))
    }
  }
}

private func fails(_ bytes: [UInt8]) -> Bool {
  (try? PDU(decoding: bytes)) == nil
}

/// Checks that the types with rules hold what they were given.
private func checkFields(_ pdu: PDU) {
  switch pdu {
  case .new(let new): checkName(new.name)
  case .user(let user): checkName(user.name)
  case .read(let request): checkFilename(request.filename)
  case .lock(let request): checkFilename(request.filename)
  case .write(let request): checkFilename(request.filename)
  case .remove(let request): checkFilename(request.filename)
  default: break
  }
}

private func checkName(_ bytes: ShortBytes) {
  guard let name = AccountName(bytes) else { return }
  precondition(name.bytes == bytes && !bytes.bytes.isEmpty)
  precondition(!bytes.bytes.contains { $0 < 0x20 || $0 == 0x7f })
}

private func checkFilename(_ bytes: ShortBytes) {
  guard let name = Filename(bytes) else { return }
  precondition(name.bytes == bytes && !bytes.bytes.isEmpty)
  precondition(!bytes.bytes.contains { $0 == 0 || $0 == UInt8(ascii: "/") })
}

private func checkFrame(_ bytes: [UInt8]) {
  let limits = Frame.Limits(header: 64, data: 128)
  do throws(FrameError) {
    let frame = try Frame(bytes, limits: limits)
    precondition(8 + frame.eHeader.count + frame.eData.count == bytes.count)
    precondition(bytes.count <= limits.message)
    precondition(Array(bytes[8...]) == Array(frame.eHeader + frame.eData))
    checkHeader(Array(frame.eHeader))
  } catch {
    precondition(error == .lengthsDontAddUp || bytes.count > 8 + 64 + 16)
  }
}
