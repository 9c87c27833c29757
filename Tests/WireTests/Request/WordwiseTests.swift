import RequestPath
import Testing
import Vocabulary

/// Names and values are read eight bytes at a time. That must find the same as reading them byte by byte, for every byte
/// at every place.
@Suite struct WordwiseTests {
    private static let alphanumeric = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Calls `body` with every byte at every place of runs of up to 20 bytes.
    private static func forEveryByte(in filler: UInt8, _ body: (_ run: [UInt8], _ place: Int, _ byte: UInt8) -> Void) {
        for count in 1...20 {
            for place in 0..<count {
                for byte in UInt8.min...UInt8.max {
                    var run = [UInt8](repeating: filler, count: count)
                    run[place] = byte
                    body(run, place, byte)
                }
            }
        }
    }

    /// A copy without a byte more, so that a sanitizer detects a read beyond the end.
    private static func lend<Value>(_ bytes: [UInt8], _ body: (Bytes, Int) -> Value) -> Value {
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
        defer { copy.deallocate() }
        for (index, byte) in bytes.enumerated() { (copy + index).initialize(to: byte) }
        return body(UnsafePointer(copy), bytes.count)
    }

    @Test func aNameEndsAtTheFirstOtherByte() {
        Self.forEveryByte(in: UInt8(ascii: "a")) { run, place, byte in
            let length = Self.lend(run) { ByteClass.nameLength($0, $1, besides: UInt8(ascii: ".")) }
            let belongs = Self.alphanumeric.contains(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            #expect(length == (belongs ? run.count : place), "\(byte) at \(place) of \(run.count)")
        }
    }

    @Test(arguments: [UInt8(ascii: "a"), UInt8(ascii: " "), 0x09, 0x80, 0xFF])
    func aControlIsFoundAnywhere(_ filler: UInt8) {
        Self.forEveryByte(in: filler) { run, place, byte in
            let isFound = Self.lend(run) { ByteClass.hasControl($0, $1) }
            #expect(isFound == (byte < 0x20 && byte != 0x09 || byte == 0x7F), "\(byte) at \(place) of \(run.count)")
        }
    }

    @Test func aKnownNameIsFoundInEveryLetterCase() {
        for (name, role) in FieldNames.requestRoles {
            #expect(Self.role(of: Array(name.utf8)) == role, "\(name)")
            #expect(Self.role(of: Array(name.uppercased().utf8)) == role, "\(name)")
        }
    }

    @Test func aByteThatDiffersMakesAnotherName() {
        for (name, role) in FieldNames.requestRoles {
            for (place, byte) in name.utf8.enumerated() where Self.alphanumeric.contains(byte) {
                // All that differ in one bit, but for the other case of a letter.
                for bit in 0..<8 where bit != 5 || byte <= UInt8(ascii: "9") {
                    var spelling = Array(name.utf8)
                    spelling[place] ^= 1 << UInt8(bit)
                    let line = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8) + spelling + Array(": x\r\n\r\n".utf8)
                    Heads.parse(line) { result, head, _ in
                        let isOther = result == .complete && head.fields[1].role != role
                        let isRefused = result == .refused(.requestMalformed)
                        #expect(isOther || isRefused, "\(name) with \(spelling[place]) at \(place)")
                    }
                }
            }
        }
    }

    @Test func aControlInANameIsRefusedThoughItsLetterBitMakesItOne() {
        // CR and `-`, and a control and a digit, differ in the bit by which letters differ in case.
        for line in ["Content\rLength: 1", "HTTP\u{12}-Settings: x", "X-Forwarded\rFor: 1.2.3.4"] {
            let result = Heads.result(head("GET / HTTP/1.1", line))
            #expect(result == .refused(.requestMalformed), "\(line.debugDescription)")
        }
    }

    @Test func aTargetIsReadUpToItsEnd() {
        Self.forEveryByte(in: UInt8(ascii: "a")) { run, place, byte in
            let line = Array("GET /".utf8) + run + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            Heads.parse(line) { result, head, bytes in
                switch byte {
                case UInt8(ascii: "?"):
                    #expect(result == .complete && head.path.length == 1 + place && head.hasQuery)
                case UInt8(ascii: "#"), 0..<0x20, 0x7F...:
                    #expect(result != .complete, "\(byte) at \(place) of \(run.count)")
                case UInt8(ascii: " "):
                    #expect(result == .refused(.requestMalformed), "at \(place) of \(run.count)")
                default:
                    #expect(result == .complete && head.target.length == 1 + run.count, "\(byte) at \(place)")
                }
            }
        }
    }

    @Test func anIDIsWrittenWithAllItsDigits() {
        #expect(RequestID(seed: 0x0123_4567_89AB_CDEF, sequence: 10).text == "0123456789abcdef000000000000000a")
        #expect(RequestID(seed: .max, sequence: 0x9A0F).text == "ffffffffffffffff0000000000009a0f")
    }

    private static func role(of name: [UInt8]) -> FieldRole {
        name.withUnsafeBufferPointer { Heads.requestNames.role(of: $0) }
    }
}
