import Testing
import Vocabulary

@Suite("Numbers in JSON")
struct JSONNumberTests {
    @Test(
        "An integer that fits 64 bits is read exactly",
        arguments: [
            ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("1700000000", 1_700_000_000),
            ("9223372036854775807", .max), ("-9223372036854775808", .min), ("-9223372036854775807", .min + 1),
        ] as [(String, Int64)]
    )
    func exact(_ text: String, _ value: Int64) {
        #expect(JSONText.decode(Array(text.utf8)) == .integer(value))
    }

    @Test(
        "A number that is no integer of 64 bits is read as a floating-point number",
        arguments: [
            ("9223372036854775808", 9_223_372_036_854_775_808), ("-9223372036854775809", -9_223_372_036_854_775_808),
            ("18446744073709551616", 18_446_744_073_709_551_616), ("1.5", 1.5), ("1e3", 1000), ("-2.5E-1", -0.25),
        ] as [(String, Double)]
    )
    func floating(_ text: String, _ value: Double) {
        #expect(JSONText.decode(Array(text.utf8)) == .number(value))
    }

    @Test(
        "What is no number by RFC 8259 is refused",
        arguments: ["", "-", "01", "-01", "+1", "1.", ".5", "1e", "1e400"]
    )
    func refused(_ text: String) {
        #expect(JSONText.decode(Array(text.utf8)) == nil)
    }

    @Test("An object with more members than usual keeps all, and refuses a repeated one")
    func manyMembers() {
        let members = (0..<40).map { "\"m\($0)\":\($0)" }
        let read = JSONText.decode(Array("{\(members.joined(separator: ","))}".utf8))
        #expect((0..<40).allSatisfy { read?["m\($0)"] == .integer(Int64($0)) })
        #expect(JSONText.decode(Array("{\((members + ["\"m0\":0"]).joined(separator: ","))}".utf8)) == nil)
    }
}
