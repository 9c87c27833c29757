import NIOCore
import RequestPath
import TestSupport
import Testing

/// The handoff parameter is found once, and removed from the query without changing another byte (T32).
@Suite struct HandoffParameterTests {
    private static let parameter = HandoffParameter(name: "session_transfer_token")

    /// The value found in `query`, or `repeated`, or `none`.
    private static func find(_ query: String) -> String {
        Array("/?\(query) session_transfer_token=no".utf8).withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return "none" }
            guard let found = Self.parameter.find(in: Slice(2, query.utf8.count), base) else { return "none" }
            if found.isRepeated { return found.value == nil ? "repeated" : "repeated, with a value" }
            return found.value.map { "value \(String(decoding: $0.bytes(in: base), as: UTF8.self))" } ?? "nothing"
        }
    }

    /// The target as the app gets it.
    private static func target(_ target: String) -> String {
        Heads.parse(Array(head("GET \(target) HTTP/1.1").utf8)) { result, head, bytes in
            #expect(result == .complete)
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16_384) { room in
                guard let start = room.baseAddress else { return "" }
                var writer = ByteWriter(start)
                RequestWriter.writeTarget(head, bytes.base, self.parameter, &writer)
                return String(decoding: UnsafeBufferPointer(start: start, count: writer.count), as: UTF8.self)
            }
        }
    }

    @Test(arguments: [
        ("session_transfer_token=x", "value x"), ("a=b&session_transfer_token=x", "value x"),
        ("session_transfer_token=x&a=b", "value x"),
        ("session_transfer_token=", "value "), ("session_transfer_token", "value "),
        ("session_transfer_token=a=b", "value a=b"),
        ("session_transfer_token=%78+y", "value %78+y"), ("%73ession_transfer_token=x", "value x"),
        ("session%5Ftransfer%5ftoken=x", "value x"),
        ("session_transfer_token=x&&", "value x"), ("&session_transfer_token=x", "value x"),
        ("", "none"), ("a=b", "none"), ("Session_Transfer_Token=x", "none"), ("session-transfer-token=x", "none"),
        ("session_transfer_token2=x", "none"),
        ("xsession_transfer_token=x", "none"), ("session_transfer_toke=x", "none"),
        ("a=session_transfer_token=x", "none"),
        ("session_transfer_token%00=x", "none"), ("session_transfer_token%=x", "none"),
        ("session%255Ftransfer_token=x", "none"),
        ("session_transfer_token=x&session_transfer_token=y", "repeated"),
        ("session_transfer_token=x&session_transfer_token=x", "repeated"),
        ("session_transfer_token=x&a&session_transfer_%74oken=y", "repeated"),
        ("session_transfer_token&session_transfer_token=x", "repeated"),
        ("session_transfer_token=1&session_transfer_token=2&session_transfer_token=3", "repeated"),
    ]) func findsItByWhatAnAppWouldDecode(_ query: String, _ expected: String) {
        #expect(Self.find(query) == expected)
    }

    @Test(arguments: [
        ("/p?session_transfer_token=x", "/p"), ("/p?session_transfer_token=x&a=b", "/p?a=b"),
        ("/p?a=b&session_transfer_token=x", "/p?a=b"),
        ("/p?a=b&session_transfer_token=x&c=d", "/p?a=b&c=d"),
        ("/p?session_transfer_token=x&session_transfer_token=y", "/p"),
        ("/p?session_transfer_token", "/p"), ("/p?session%5Ftransfer_token=x&a", "/p?a"),
        ("/p?a=%2f%2F+%20&session_transfer_token=x&b=\"<>{}|^`\\&c", "/p?a=%2f%2F+%20&b=\"<>{}|^`\\&c"),
        ("/p?a&&session_transfer_token=x&&b", "/p?a&&&b"), ("/p?a=b?c&session_transfer_token=x", "/p?a=b?c"),
        (
            "/%61//b;c?SAMLRequest=fZJ%2B&RelayState=a%3d&Signature=x%3D%3D&session_transfer_token=t",
            "/%61//b;c?SAMLRequest=fZJ%2B&RelayState=a%3d&Signature=x%3D%3D"
        ),
        ("/p?a=b", "/p?a=b"), ("/p?a=session_transfer_token=x", "/p?a=session_transfer_token=x"),
    ]) func takesItOutAndNothingElse(_ before: String, _ after: String) {
        #expect(Self.target(before) == after)
    }

    @Test(arguments: [
        ("?session_transfer_token=x", true), ("?a=b&session_transfer_token=", true),
        ("?%73ession_transfer_token=x", true), ("?session%5Ftransfer%5ftoken%3Dx", true),
        ("?return_to=%2Fx%3Fsession_transfer_token%3Dspt_x", true),
        ("?next=%252Fx%253Fa%253Db%2526session%25255Ftransfer_token%253Dspt_x", true),
        ("?a=session_transfer_token=x", true), ("?sessionsession_transfer_token=x", true),
        ("?", false), ("?a=b", false), ("?session_transfer_token", false), ("?session_transfer_tokens=x", false),
        ("?session_transfer_toke=n", false), ("?q=session+transfer+token=", false),
        ("?session%5transfer_token=", false),
        ("?session_transfer_token%", false), ("?session_transfer_token%3", false), ("?%", false), ("?%25%25", false),
    ]) func findsItInWhatAnotherURLSays(_ query: String, _ expected: Bool) {
        let found = Array("\(query) session_transfer_token=no".utf8).withUnsafeBufferPointer { buffer in
            buffer.baseAddress.map { Self.parameter.occurs(in: Slice(0, query.utf8.count), $0) }
        }
        #expect(found == expected)
    }

    @Test func anyOrderGivesTheSamePieces() {
        let pieces = [
            "a=b", "session_transfer_token=1", "c", "", "session%5ftransfer_token", "e=f=g",
            "session_transfer_token2=y",
        ]
        var generator = SeededNumbers(seed: 11)
        for _ in 0..<500 {
            let shuffled = pieces.shuffled(using: &generator)
            let kept = shuffled.filter { $0 != "session_transfer_token=1" && $0 != "session%5ftransfer_token" }
            #expect(Self.target("/?" + shuffled.joined(separator: "&")) == "/?" + kept.joined(separator: "&"))
        }
    }

    @Test func aThousandParameters() {
        let others = (0..<800).map { "p\($0)=v" }
        var all = others
        all.insert("session_transfer_token=x", at: 400)
        #expect(Self.find(all.joined(separator: "&")) == "value x")
        #expect(Self.target("/?" + all.joined(separator: "&")) == "/?" + others.joined(separator: "&"))
    }
}
