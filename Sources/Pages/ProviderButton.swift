/// A link to a provider on the sign-in page.
package struct ProviderButton: Sendable, Equatable {
    /// The provider's name as plain text.
    package let label: String
    private let brand: ProviderBrand?
    private let image: PageDesign.Logo?

    /// - Parameters:
    ///   - brand: The brand whose mark is shown; `nil` for the label's first letter.
    ///   - image: An image to show instead of the mark; `nil` for none.
    package init(label: String, brand: ProviderBrand? = nil, image: PageDesign.Logo? = nil) {
        self.label = label
        self.brand = brand
        self.image = image
    }

    /// The mark as HTML. Screen readers skip it, because the text names the provider.
    private var mark: String {
        if let image { return #"<img class="mark" src="\#(image.url)" alt="">"# }
        if let brand { return brand.mark }
        let letter = HTMLText.escaped(String(self.label.prefix(1)).uppercased())
        return #"<span class="mark" aria-hidden="true">\#(letter)</span>"#
    }

    /// Returns the link as HTML.
    ///
    /// - Parameters:
    ///   - text: The link's plain text. It should contain the label.
    ///   - note: A note below the text; `nil` for none.
    ///   - isAway: True if the provider does not answer at the moment.
    package func html(leadingTo path: String, text: String, note: String? = nil, isAway: Bool = false) -> String {
        let small = note.map { "<small>\(HTMLText.escaped($0))</small>" } ?? ""
        let start = #"<a class="provider" href="\#(HTMLText.escaped(path))"\#(isAway ? " data-away" : "")>"#
        return "\(start)\(self.mark)<span>\(HTMLText.escaped(text))\(small)</span></a>"
    }
}

/// Well-known providers, recognized by their names in the settings or by their issuers.
package enum ProviderBrand: String, CaseIterable, Sendable {
    case google, apple, github, microsoft, gitlab, okta, keycloak

    /// - Parameters:
    ///   - name: The provider's name in the settings.
    ///   - issuer: The provider's issuer.
    package init?(name: String, issuer: String) {
        let words = name.split(separator: "-").map(String.init)
        let host = issuer.split(separator: "/").dropFirst().first.map(String.init) ?? issuer
        let found = Self.allCases.first { words.contains($0.rawValue) || $0.owns(host) }
        guard let found = found ?? (words.contains("entra") ? .microsoft : nil) else { return nil }
        self = found
    }

    /// Returns whether a host belongs to the brand.
    private func owns(_ host: String) -> Bool {
        switch self {
        case .google: host == "accounts.google.com"
        case .apple: host == "appleid.apple.com"
        case .github: host == "github.com" || host == "github"
        case .microsoft: host == "login.microsoftonline.com"
        case .gitlab: host == "gitlab.com"
        case .okta: host.hasSuffix(".okta.com") || host.hasSuffix(".okta-emea.com")
        // Keycloak has no common host.
        case .keycloak: false
        }
    }

    /// The brand's usual name.
    package var label: String {
        switch self {
        case .google: "Google"
        case .apple: "Apple"
        case .github: "GitHub"
        case .microsoft: "Microsoft"
        case .gitlab: "GitLab"
        case .okta: "Okta"
        case .keycloak: "Keycloak"
        }
    }

    /// A mark of simple shapes. It needs no licence.
    var mark: String {
        let shapes =
            switch self {
            case .google:
                #"<path fill="none" stroke="currentColor" stroke-width="3" d="M19 7a8.5 8.5 0 1 0 1.5 5H12"/>"#
            case .apple:
                #"<path d="M12 8c-6-3.5-9 3-6 9 2.5 5 4 3.5 6 3s3.5 2 6-3c.7-1.4 1-2 1-2-4-2-3.5-6 0-7-2-2.5-4.5-1.5-7 0zm0-1c0-3 2-5 4-5 0 3-2 5-4 5z"/>"#
            case .github:
                #"<path d="M4 3l4 2.5a10 10 0 0 1 8 0L20 3l.5 6c1.5 6-2 9-5.5 9v4H9v-2c-3 .5-3.5-1-4.5-2.5 1.5-.5 2.5 1.5 4.5.8C5 18 2 15 3.5 9z"/>"#
            case .microsoft:
                ##"<path fill="#f25022" d="M2 2h9v9H2z"/><path fill="#7fba00" d="M13 2h9v9h-9z"/><path fill="#00a4ef" d="M2 13h9v9H2z"/><path fill="#ffb900" d="M13 13h9v9h-9z"/>"##
            case .gitlab: ##"<path fill="#e24329" d="M12 22L2 13 5 3l3.5 7h7L19 3l3 10z"/>"##
            case .okta: #"<circle cx="12" cy="12" r="7.5" fill="none" stroke="currentColor" stroke-width="5"/>"#
            case .keycloak:
                #"<path fill="none" stroke="currentColor" stroke-width="2.5" d="M7 3h10l5 9-5 9H7l-5-9zM12 8l-3 4 3 4m3-8l-3 4 3 4"/>"#
            }
        return #"<svg class="mark" viewBox="0 0 24 24" fill="currentColor" aria-hidden="true">\#(shapes)</svg>"#
    }
}
