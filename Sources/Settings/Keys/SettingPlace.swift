import Vocabulary

/// A value that is read from a single key of the settings.
protocol SettingScalar: Sendable {
    /// Reads a written value; `nil` if it has another type.
    static func read(_ value: SettingValue) -> Self?
    /// Returns the value as an operator would write it; `nil` if a default of this kind must be described in words.
    func written(as kind: SettingKind) -> String?
}

/// A scalar whose type defines what may be written.
protocol SettingChoice: SettingScalar {
    static var kind: SettingKind { get }
}

/// A scalar with a fixed list of words.
protocol SettingWord: SettingChoice, CaseIterable, RawRepresentable where RawValue == String {}

/// A part of the settings whose values are set by keys.
protocol SettingsRecord {
    /// The record with all defaults. The values of required keys are empty.
    static var initial: Self { get }
}

/// The place of a key's value in a `Record`.
struct SettingPlace<Record>: Sendable {
    /// Stores a value in the record. A value of the wrong type was reported before and is ignored.
    let set: @Sendable (_ value: SettingValue, _ record: inout Record) -> Void

    init<Value: SettingScalar>(_ path: any WritableKeyPath<Record, Value> & Sendable) {
        self.set = { value, record in
            if let value = Value.read(value) { record[keyPath: path] = value }
        }
    }
}

extension SettingsTree {
    /// Stores all written values of `section`, and of the sections in it, that have a place in `record`.
    func set<Record>(_ section: Section, in record: inout Record) {
        for key in section.keys {
            guard let value = self[key.name]?.value else { continue }
            if let place = key.place as? SettingPlace<Record> {
                place.set(value, &record)
            } else if case .section(let below) = key.kind, case .tree(let tree) = value {
                tree.set(below, in: &record)
            }
        }
    }
}

// MARK: Scalars

extension SettingWord {
    static var kind: SettingKind { .choice(Self.allCases.map(\.rawValue)) }

    static func read(_ value: SettingValue) -> Self? {
        if case .text(let word) = value { Self(rawValue: word) } else { nil }
    }

    func written(as kind: SettingKind) -> String? { self.rawValue }
}

extension Bool: SettingChoice {
    static var kind: SettingKind { .boolean }

    static func read(_ value: SettingValue) -> Bool? {
        if case .boolean(let value) = value { value } else { nil }
    }

    func written(as kind: SettingKind) -> String? { "\(self)" }
}

/// A number, or a size in bytes.
extension Int: SettingScalar {
    static func read(_ value: SettingValue) -> Int? {
        switch value {
        case .integer(let value): value
        case .size(let bytes): bytes
        default: nil
        }
    }

    func written(as kind: SettingKind) -> String? {
        if case .size = kind { Quantity.text(bytes: self) } else { "\(self)" }
    }
}

extension Duration: SettingScalar {
    static func read(_ value: SettingValue) -> Duration? {
        if case .duration(let value) = value { value } else { nil }
    }

    func written(as kind: SettingKind) -> String? {
        if self == .zero, case .duration(_, orOff: true) = kind { "off" } else { Quantity.text(self) }
    }
}

extension String: SettingScalar {
    static func read(_ value: SettingValue) -> String? {
        if case .text(let value) = value { value } else { nil }
    }

    func written(as kind: SettingKind) -> String? { self }
}

extension PublicURL: SettingScalar {
    static func read(_ value: SettingValue) -> PublicURL? {
        if case .url(let value) = value { value } else { nil }
    }

    func written(as kind: SettingKind) -> String? { self.description }
}

extension RedirectURI: SettingScalar {
    static func read(_ value: SettingValue) -> RedirectURI? { String.read(value).flatMap { RedirectURI($0) } }

    func written(as kind: SettingKind) -> String? { self.text }
}

extension Optional: SettingScalar where Wrapped: SettingScalar {
    static func read(_ value: SettingValue) -> Wrapped?? {
        if case .size(nil) = value { return .some(nil) }
        return Wrapped.read(value).map { .some($0) }
    }

    func written(as kind: SettingKind) -> String? { self?.written(as: kind) }
}

extension Optional: SettingChoice where Wrapped: SettingChoice {
    static var kind: SettingKind { Wrapped.kind }
}

extension Array: SettingScalar where Element: SettingScalar {
    static func read(_ value: SettingValue) -> [Element]? {
        guard case .list(let elements) = value else { return nil }
        return elements.compactMap { Element.read($0.value) }
    }

    func written(as kind: SettingKind) -> String? {
        self.isEmpty ? nil : self.compactMap { $0.written(as: kind) }.joined(separator: ", ")
    }
}

extension Set: SettingScalar where Element: SettingScalar {
    static func read(_ value: SettingValue) -> Set<Element>? { [Element].read(value).map { Set($0) } }

    /// Returns `nil`, because a set has no order.
    func written(as kind: SettingKind) -> String? { nil }
}

extension AssuranceLevel: SettingWord {}
extension BindingMode: SettingWord {}

// MARK: Records

extension Settings: SettingsRecord { static var initial: Settings { Settings(hosts: [], upstreams: []) } }
extension CORSSettings: SettingsRecord { static var initial: CORSSettings { CORSSettings() } }
extension ClientSettings: SettingsRecord { static var initial: ClientSettings { ClientSettings(clientID: "") } }
extension APISettings: SettingsRecord { static var initial: APISettings { APISettings(audience: "") } }
extension RedisSettings: SettingsRecord { static var initial: RedisSettings { RedisSettings(url: Secret("")) } }

extension HostSettings: SettingsRecord {
    static var initial: HostSettings { HostSettings(publicURL: .initial, endpoints: false, routes: []) }
}

extension RouteSettings: SettingsRecord {
    static var initial: RouteSettings { RouteSettings(path: "/**", upstream: nil, auth: .required) }
}

extension UpstreamSettings: SettingsRecord {
    static var initial: UpstreamSettings { UpstreamSettings(name: "", isHTTPS: false, host: "", port: 0) }
}

extension ServerSettings: SettingsRecord {
    static var initial: ServerSettings { ServerSettings(isHTTPS: false, host: "", port: 0) }
}

extension HealthSettings: SettingsRecord {
    static var initial: HealthSettings { HealthSettings() }
}

extension AuthorizationSettings: SettingsRecord {
    static var initial: AuthorizationSettings {
        AuthorizationSettings(listen: ListenAddress(host: "", port: 0), peers: [])
    }
}

extension ListenerSettings: SettingsRecord {
    static var initial: ListenerSettings { ListenerSettings(ListenAddress(host: "", port: 0)) }
}

extension StrictTransportSettings: SettingsRecord {
    static var initial: StrictTransportSettings { StrictTransportSettings() }
}

extension ProxyProtocolSettings: SettingsRecord {
    static var initial: ProxyProtocolSettings { ProxyProtocolSettings(from: []) }
}

extension AuthorizationRequestSettings: SettingsRecord {
    static var initial: AuthorizationRequestSettings { AuthorizationRequestSettings(scopes: []) }
}

extension GoogleSettings: SettingsRecord {
    static var initial: GoogleSettings { GoogleSettings(audiences: []) }
}

extension AppleSettings: SettingsRecord {
    static var initial: AppleSettings { AppleSettings(bundleIDs: [], teamID: "", keyID: "", privateKey: Secret("")) }
}

extension FacebookSettings: SettingsRecord {
    static var initial: FacebookSettings { FacebookSettings(appID: "", appSecret: Secret("")) }
}

extension PublicURL {
    static let initial = PublicURL(isHTTPS: false, host: "", port: nil)
}
