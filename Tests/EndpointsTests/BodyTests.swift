import Endpoints
import Testing
import Vocabulary

@Suite("Bodies")
struct BodyTests {
    private func parameters(_ type: String?, _ body: String) throws -> BodyParameters {
        try BodyParameters(request(fields: type.map { [("content-type", $0)] } ?? [], body: body))
    }

    @Test("JSON and forms are read, even if the media type has parameters")
    func encodings() throws {
        let json = try self.parameters("application/json", #"{"a":"b","n":1,"o":{"x":[true,null]}}"#)
        #expect(json.text("a") == "b")
        #expect(json["n"] == 1)
        #expect(json.text("n") == nil)
        #expect(json.encoding == .json)
        let form = try self.parameters(
            "Application/X-WWW-Form-Urlencoded;charset=UTF-8",
            "a=b+c&d=%C3%A9%2B&empty=&bare&e=1=2"
        )
        #expect(form.text("a") == "b c")
        #expect(form.text("d") == "\u{E9}+")
        #expect(form.text("e") == "1=2")
        #expect(form.text("absent") == nil)
    }

    /// auth0-python sends `null` for arguments that were not given; RFC 6749 3.2 says the same of empty values.
    @Test("A parameter that is null or empty is absent, in either encoding")
    func withoutValue() throws {
        let json = try self.parameters("application/json", #"{"null":null,"empty":"","false":false,"zero":0,"a":"b"}"#)
        let form = try self.parameters("application/x-www-form-urlencoded", "empty=&bare&null=null&a=b")
        for name in ["empty", "bare", "absent"] {
            #expect(json[name] == nil && json.text(name) == nil)
            #expect(form[name] == nil && form.text(name) == nil)
        }
        #expect(json["null"] == nil)
        #expect(json["false"] == false && json["zero"] == 0)
        #expect(form.text("null") == "null")
        #expect(json.text("a") == "b" && form.text("a") == "b")
    }

    @Test(
        "A repeated parameter makes the body malformed, with a value or without",
        arguments: ["a=1&a=1", "a=1&%61=2", "a=&a=1", "a=1&a"]
    )
    func repeatedInForm(body: String) throws {
        #expect(throws: BodyParameters.Failure.malformed) {
            try self.parameters("application/x-www-form-urlencoded", body)
        }
    }

    private static let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)

    @Test(
        "A body that is not a strict JSON object is malformed, and is called what it is",
        arguments: [
            (
                JSONFault.repeated,
                [#"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"b":[{"a":1,"a":1}]}"#, #"{"a":1,"a":2"#]
            ),
            (.empty, ["", " \r\n"]), (.noObject, ["[]", "1", "null", #""a""#, " true "]),
            (.rest, [#"{"a":1}x"#, "{}{}", "{},"]), (.number, [#"{"a":1e999}"#]), (.byteOrderMark, ["\u{FEFF}{}"]),
            (.surrogate, [#"{"a":"\ud800"}"#, #"{"a":"\ud800\u0041"}"#, #"{"a":"\udc00"}"#, #"{"\udc00":1}"#]),
            (.depth, ["{\"a\":\(deep)}", deep, "{\"a\":\(deep.prefix(40))"]),
            (
                .syntax,
                [
                    #"{"a":01}"#, #"{"a":+1}"#, #"{"a":.5}"#, #"{"a":1.}"#, #"{"a":1e}"#, #"{"a":NaN}"#, #"{a:1}"#,
                    #"{"a":'b'}"#, #"{"a":1,}"#, #"{"a" 1}"#, #"{"a":"\x"}"#, "{\"a\":\"\n\"}", #"{"a":"b}"#, "{",
                    #"{"a":tru}"#, #"{"a":"\u+041"}"#, "a=b",
                ]
            ),
        ]
    )
    func malformedJSON(fault: JSONFault, bodies: [String]) throws {
        for body in bodies {
            #expect(throws: BodyParameters.Failure.json(fault), "\(body)") {
                try self.parameters("application/json", body)
            }
        }
        #expect(BodyParameters.Failure.json(fault).sentence == "The body \(fault.rawValue).")
        // What OAuth allows in its descriptions (RFC 6749 5.2).
        #expect(fault.rawValue.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
    }

    @Test("Bytes that are not UTF-8 are malformed in either encoding")
    func invalidText() throws {
        var json = try request(fields: [("content-type", "application/json")])
        json.body = Array(#"{"a":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
        #expect(throws: BodyParameters.Failure.json(.encoding)) { try BodyParameters(json) }
        // As editors save it in UTF-16.
        json.body = [0xFF, 0xFE, 0x7B, 0, 0x7D, 0]
        #expect(throws: BodyParameters.Failure.json(.encoding)) { try BodyParameters(json) }
        for body in ["a=%C3%28", "a=%zz", "a=%"] {
            #expect(throws: BodyParameters.Failure.malformed) {
                try self.parameters("application/x-www-form-urlencoded", body)
            }
        }
    }

    @Test("Other and repeated media types are told apart from malformed bodies")
    func mediaTypes() throws {
        for type in ["text/plain", "multipart/form-data; boundary=x", "application/jsonx", ""] {
            #expect(throws: BodyParameters.Failure.mediaType) { try self.parameters(type, "{}") }
        }
        #expect(throws: BodyParameters.Failure.mediaType) { try self.parameters(nil, "{}") }
        // Before it reaches an endpoint.
        #expect(throws: Reason.requestMalformed) {
            try request(fields: [("content-type", "application/json"), ("content-type", "text/plain")], body: "{}")
        }
        let form = try request(fields: [("content-type", "application/x-www-form-urlencoded")], body: "a=1")
        #expect(throws: BodyParameters.Failure.mediaType) { try BodyParameters(form, accepting: [.json]) }
    }

    @Test("JSON that is labelled as a form is read where the endpoint allows it, as strictly as JSON")
    func mislabelled()
        throws
    {
        let form = [(name: "content-type", value: "application/x-www-form-urlencoded")]
        let json = try request(fields: form, body: #"{"a":"b&c=d","n":null}"#)
        let read = try BodyParameters(json, readsJSONAsForm: true)
        #expect(read.text("a") == "b&c=d" && read.names == ["a"] && read.encoding == .json)
        for body in [#"{"a":"b","a":"b"}"#, "{", #"{"a":"b"}&a=b"#, "{a=b"] {
            let strange = try request(fields: form, body: body)
            #expect(throws: BodyParameters.Failure.self) { try BodyParameters(strange, readsJSONAsForm: true) }
        }
        #expect(try BodyParameters(request(fields: form, body: "a=b"), readsJSONAsForm: true).text("a") == "b")
        #expect(throws: BodyParameters.Failure.mediaType) {
            try BodyParameters(json, accepting: [.form], readsJSONAsForm: true)
        }
        let other = try request(fields: [("content-type", "text/plain")], body: "{}")
        #expect(throws: BodyParameters.Failure.mediaType) { try BodyParameters(other, readsJSONAsForm: true) }
    }

    @Test("JSON that was written is read back the same")
    func roundTrip() {
        let value: JSONValue = [
            "text": "a\"b\\c/\n\r\t\u{0}\u{1F}\u{7F}\u{E9}\u{1F600}</script>", "integer": -42,
            "number": .number(1.5e-7), "large": .number(1e300), "list": [true, false, .null, [], [:]],
        ]
        #expect(JSONText.decode(JSONText.encode(value)) == value)
        #expect(JSONText.encode(.number(.nan)) == Array("null".utf8))
        #expect(JSONText.decode(Array(#""\ud83d\ude00""#.utf8)) == .string("\u{1F600}"))
        #expect(JSONText.decode(Array(" [1 , -0.5e+2] ".utf8)) == [1, .number(-50)])
    }
}
