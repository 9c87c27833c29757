import TestSupport
import Testing
import Vocabulary

@Suite struct JSONDocumentTests {
    private static let value: JSONValue = [
        "email": "ada@example.com", "name": ["first": "Ada", "last": "Lov\u{E9}lace"], "groups": ["staff", "admin"],
        "age": 36, "ratio": .number(-0.5), "active": true, "gone": .null, "deep": ["a": ["b": [[1], []]]],
    ]

    private static func bytes(_ name: String) -> [UInt8] { Array(name.utf8) }

    @Test("A document equals the value that it was made of, and a named part is found without reading the rest")
    func paths() {
        let document = JSONDocument(Self.value)
        #expect(document.value == Self.value)
        #expect(document["email"] == "ada@example.com")
        #expect(document.value(at: ["name", "last"].map(Self.bytes)) == "Lov\u{E9}lace")
        #expect(document["groups"] == ["staff", "admin"])
        #expect(document.value(at: ["deep", "a", "b"].map(Self.bytes)) == [[1], []])
        for (name, value) in [
            ("age", JSONValue.integer(36)), ("ratio", .number(-0.5)), ("active", true), ("gone", .null),
        ] { #expect(document[name] == value) }
        #expect(document.value(at: []) == Self.value)
        for path in [["mail"], ["emai"], ["email", "x"], ["groups", "0"], ["name", "first", "x"], [""]] {
            #expect(document.value(at: path.map(Self.bytes)) == nil, "\(path)")
        }
        for value: JSONValue in [.null, "text", [], .object([:])] { #expect(JSONDocument(value)["x"] == nil) }
    }

    @Test("Equal documents have equal bytes, in whatever order their members came")
    func order() {
        var numbers = SeededNumbers(seed: 30)
        for _ in 0..<20 {
            let members = (0..<30).map { ("member \($0)", JSONValue.integer($0)) }.shuffled(using: &numbers)
            let document = JSONDocument(.object(Dictionary(members, uniquingKeysWith: { $1 })))
            #expect(document == JSONDocument(.object(Dictionary(members.reversed(), uniquingKeysWith: { $1 }))))
        }
    }

    @Test("Truncated or changed bytes are refused or read as another document, and never crash")
    func damaged() throws {
        var writer = CompactWriter()
        JSONDocument(Self.value).write(to: &writer)
        for count in writer.bytes.indices {
            var reader = CompactReader(Array(writer.bytes[..<count]))
            #expect(throws: CompactFormatError.self) { try JSONDocument(from: &reader) }
        }
        for index in writer.bytes.indices {
            for byte in [UInt8(0), 5, 6, 7, 8, 0x7F, 0x80, 0xFF] {
                var changed = writer.bytes
                changed[index] = byte
                var reader = CompactReader(changed)
                guard let document = try? JSONDocument(from: &reader) else { continue }
                _ = document.value
                _ = document.value(at: ["name", "last"].map(Self.bytes))
            }
        }
        var deep = CompactReader([UInt8](repeating: 6, count: 1) + (0..<100).flatMap { _ in [UInt8(1), 6] } + [0])
        #expect(throws: CompactFormatError.self) { try JSONDocument(from: &deep) }
    }
}
