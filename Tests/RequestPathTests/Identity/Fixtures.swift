import RequestPath
import Sessions
import Settings
import Vocabulary

func session(
    traits: JSONValue = ["email": "ada@example.com", "name": "Ada", "groups": ["staff", "admin"]],
    metadata: JSONValue = .null,
    methods: [String] = ["password", "totp"]
) -> Session {
    Session(
        id: "ses_1",
        kind: .web,
        origin: .transfer,
        lineage: Lineage(tag: "abcdefghij"),
        identity: Identity(id: "user-1", traits: traits, metadataPublic: metadata),
        clientID: "web",
        host: "app.example.com",
        aal: .aal2,
        methods: methods,
        scopes: ["read", "write"],
        authenticatedAt: UnixTime(seconds: 1_795_242_896),
        issuedAt: UnixTime(seconds: 1_795_242_896),
        expiresAt: UnixTime(seconds: 1_795_252_896),
        idleLifetime: .seconds(900)
    )
}

func profile(_ change: (inout IdentitySettings) -> Void = { _ in }) -> IdentityProfile {
    var settings = IdentitySettings()
    change(&settings)
    return IdentityProfile(settings)
}

/// A profile with one field `X-Value` for a path.
func profile(
    path: String,
    delimiter: Character = ",",
    encoding: IdentitySettings.Encoding = .percent
) -> IdentityProfile {
    profile {
        $0.fields = [IdentitySettings.Field(name: "X-Value", path: path)]
        $0.delimiter = delimiter.asciiValue ?? 0x2C
        $0.encoding = encoding
    }
}

func lines(_ profile: IdentityProfile, _ session: Session) -> Result<[String], IdentityRefusal> {
    Result { () throws(IdentityRefusal) in try profile.render(session) }.map { bytes in
        String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true).map(
            String.init
        )
    }
}

/// The client's lines that reach the app after the parser and the profile.
func kept(_ fields: [String], method: String = "GET", _ profile: IdentityProfile, dropsUnderscore: Bool = false)
    -> [String]?
{
    let parser = RequestParser(
        names: FieldNames(
            roles: FieldNames.requestRoles,
            managedNames: profile.managed.names,
            managedPrefixes: profile.managed.prefixes
        ),
        limits: HeadLimits(line: 8192, field: 16_384, fields: 65_536, fieldCount: 100),
        dropsUnderscore: dropsUnderscore
    )
    let text = "\(method) /x HTTP/1.1\r\nHost: app\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    let head = RequestHead(fieldCount: 100)
    return Array(text.utf8).withUnsafeBufferPointer { bytes in
        guard let base = bytes.baseAddress, parser.parse(base, bytes.count, into: head) == .complete else { return nil }
        return (1..<head.fields.count).filter { !head.fields[$0].isDropped }.map { index in
            let line = head.fields[index]
            let name = String(decoding: line.name.bytes(in: base), as: UTF8.self)
            return "\(name): \(String(decoding: line.value.bytes(in: base), as: UTF8.self))"
        }
    }
}
