import Vocabulary

/// A kind of provider: its key below `provider`, and how its settings are read and checked.
package struct ProviderKind: Sendable {
    /// Where a provider is written, and the rest of the settings.
    struct Place {
        /// The name of the provider.
        let name: String
        /// The mapping with the key of the kind: `provider`, or an element of `providers`.
        let tree: SettingsTree
        /// The place of the kind's own mapping, e.g. `provider.oidc`.
        let section: KeyPlace
        /// The hosts that have the provider.
        let hosts: [HostSettings]
        let settings: Settings
    }

    /// The key below `provider`.
    package let key: String
    /// The table of the keys below `key`.
    fileprivate let table: Section
    /// The description of the key in the reference.
    fileprivate let purpose: String
    /// Reads the settings; `nil` if a problem was reported.
    let read: @Sendable (inout SettingsBuilder, SettingsTree, Settings) -> (any ProviderSettings)?
    /// Reports missing settings that a provider of this kind needs.
    let check: @Sendable (inout SettingsBuilder, Place) -> Void
    /// True if at most one provider of this kind can be configured.
    let isSingle: Bool
    /// True if `claims` can map `acr` and `amr` to assurance levels.
    let mapsLevels: Bool

    init<Own: ProviderSettings>(
        _ own: Own.Type,
        _ table: Section,
        _ purpose: String,
        isSingle: Bool = false,
        read: @escaping @Sendable (inout SettingsBuilder, SettingsTree, Settings) -> Own?,
        check: @escaping @Sendable (inout SettingsBuilder, Place) -> Void = { _, _ in }
    ) {
        self.key = own.key
        self.table = table
        self.purpose = purpose
        self.read = { read(&$0, $1, $2) }
        self.check = check
        self.isSingle = isSingle
        self.mapsLevels = table["claims"]?.kind.section?.section["acr"] != nil
    }
}

extension ProviderKind {
    /// Every kind of provider, in the order of the reference.
    package static let all: [ProviderKind] = [.openID, .kratos, .oauth2, .introspection, .fixedUsers]

    /// The kind with this key; `nil` if no kind has it.
    static func named(_ key: String) -> ProviderKind? { self.all.first { $0.key == key } }

    static func of(_ settings: any ProviderSettings) -> ProviderKind? { self.named(type(of: settings).key) }

    /// The keys of all kinds in a sentence, such as `provider.oidc or provider.static`.
    static var allKeys: String { alternatives(self.all.map { "provider.\($0.key)" }) }

    /// The keys of the kinds whose claims become traits, in a sentence such as `provider.oidc or provider.oauth2`.
    package static var keysWithClaims: String {
        alternatives(self.all.filter { $0.table["claims"] != nil }.map { "provider.\($0.key)" })
    }
}

extension Section {
    /// The keys of `provider`.
    static let provider = Section(Self.kinds + Self.outgoing)

    /// The keys of the kinds of providers. These keys exclude each other.
    private static let kinds = ProviderKind.all.enumerated().map { index, kind in
        let rule = index == 0 ? " This key and the next four exclude each other." : ""
        return SettingsKey(kind.key, .section(kind.table), kind.purpose + rule)
    }

    /// The keys of an element of `providers`.
    static let namedProvider = Section(
        [
            SettingsKey(
                "name",
                .text(.providerName),
                required: true,
                "The provider's name, under which its users' sessions are stored. A single provider is called default."
            ),
            SettingsKey(
                "label",
                .text(.text),
                default: "the provider's usual name",
                "The label of the provider's button on a sign-in page with several providers."
            ),
            SettingsKey(
                "icon_file",
                .path(isSecret: false),
                default: "the provider's mark if it is known, otherwise a letter",
                "The image on the provider's button: SVG, PNG, JPEG, GIF or WebP of at most 64KiB. It is embedded in the page."
            ),
            SettingsKey(
                "essential",
                .boolean,
                default: "true if users of some host have no other provider",
                "Whether a new gateway becomes ready only after it has reached this provider."
            ),
        ] + Self.provider.keys
    )
}
