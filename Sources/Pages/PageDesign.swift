import Cryptography
import Glibc

/// The design of the gateway's pages, and their languages.
package struct PageDesign: Sendable, Equatable {
    /// A background colour, with the colour for text on it.
    package struct Colour: Sendable, Equatable {
        /// The colour as `#` and six hexadecimal digits.
        package let text: String
        /// Black or white, whichever has the higher contrast. It is at least 4.5 on any colour (WCAG 2.2, 1.4.3).
        let ink: String

        /// - Parameter text: A colour such as `#1f5fbf`. Returns `nil` for any other form.
        package init?(_ text: String) {
            let digits = text.utf8.dropFirst()
            guard text.utf8.first == UInt8(ascii: "#"), digits.count == 6,
                digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }),
                let value = Int(text.dropFirst(), radix: 16)
            else { return nil }
            self.text = text
            // The relative luminance (WCAG 2.2). At 0.179, black and white have equal contrast.
            func light(_ shift: Int) -> Double {
                let part = Double((value >> shift) & 0xFF) / 255
                return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
            }
            let luminance = 0.2126 * light(16) + 0.7152 * light(8) + 0.0722 * light(0)
            self.ink = luminance > 0.179 ? "#000" : "#fff"
        }
    }

    /// An image embedded in pages, e.g. the logo.
    package struct Logo: Sendable, Equatable {
        /// The maximum size in bytes.
        package static let largest = 65_536

        let url: String

        /// - Parameter bytes: A PNG, JPEG, GIF, WebP or SVG image. Returns `nil` for anything else.
        package init?(_ bytes: [UInt8]) {
            let type: String? =
                switch bytes.prefix(16) {
                case let start where start.starts(with: [0x89, 0x50, 0x4E, 0x47]): "png"
                case let start where start.starts(with: [0xFF, 0xD8, 0xFF]): "jpeg"
                case let start where start.starts(with: "GIF8".utf8): "gif"
                case let start where start.starts(with: "RIFF".utf8) && start.dropFirst(8).starts(with: "WEBP".utf8):
                    "webp"
                case let start where start.starts(with: "<svg".utf8) || start.starts(with: "<?xml".utf8): "svg+xml"
                default: nil
                }
            guard let type else { return nil }
            self.url = "data:image/\(type);base64,\(Base64.encode(bytes))"
        }

        private init(svg: String) { self.url = "data:image/svg+xml;base64,\(Base64.encode(Array(svg.utf8)))" }

        /// Returns the default icon: an open door.
        static func door(_ colour: String, ink: String) -> Logo {
            Logo(
                svg:
                    #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="\#(colour)"/><path d="M4.5 13V7a3.5 3.5 0 0 1 7 0v6z" fill="\#(ink)"/><circle cx="9.5" cy="9.5" r=".9" fill="\#(colour)"/></svg>"#
            )
        }
    }

    /// The path prefix of the gateway's own pages.
    package static let ownPages = "/.sallyport/"

    /// A prefix before `ownPages`, for proxies that only forward the paths of oauth2-proxy.
    package static let oauth2ProxyBase = "/oauth2"

    /// The prefix of the gateway's own paths: empty or `oauth2ProxyBase`.
    package var base = ""
    private let name: String?
    private let logo: Logo?
    private let icon: Logo
    private let supportURL: String?
    /// Where users change their passwords (`/.well-known/change-password`); `nil` if not configured.
    package let changePasswordURL: String?
    private let templates: [WebPage.Kind: PageTemplate]
    private let style: String
    let styleDigest: String
    /// The languages. Never empty. Browsers that request none of them get the first.
    package let languages: [PageLanguage]

    /// - Parameters:
    ///   - name: The site's name.
    ///   - icon: The icon in the browser's tab; `nil` for a door in `colour`.
    ///   - supportURL: Where users get help.
    ///   - changePasswordURL: Where users change their passwords.
    ///   - templates: Templates by kind of page. `.page` applies to kinds without a template.
    ///   - style: Further CSS rules.
    ///   - languages: Must not be empty.
    package init(
        name: String? = nil,
        logo: Logo? = nil,
        icon: Logo? = nil,
        colour: Colour? = nil,
        supportURL: String? = nil,
        changePasswordURL: String? = nil,
        templates: [WebPage.Kind: PageTemplate] = [:],
        style: String? = nil,
        languages: [PageLanguage] = PageLanguage.included
    ) {
        self.name = name
        self.logo = logo
        self.icon = icon ?? .door(colour?.text ?? "#1f5fbf", ink: colour?.ink ?? "#fff")
        self.supportURL = supportURL
        self.changePasswordURL = changePasswordURL
        self.templates = templates
        self.languages = languages
        let accent = colour.map {
            "\n:root{--accent:\($0.text);--deep:\($0.text);--on:\($0.ink)}button:hover,.way:hover{filter:brightness(.92)}"
        }
        self.style = Stylesheet.included + (accent ?? "") + (style.map { "\n" + $0 } ?? "")
        self.styleDigest = Self.digest(self.style)
    }

    /// The default design.
    package static let included = PageDesign()

    /// The icon in browsers' tabs, as a `data:` URL.
    package var iconURL: String { self.icon.url }

    /// Returns a writer for the language at `position`, or for the first language if there is none.
    package func writer(_ position: Int) -> PageWriter {
        PageWriter(design: self, language: self.languages.indices.contains(position) ? self.languages[position] : nil)
    }

    /// Returns a writer for the language that a browser requests.
    ///
    /// - Parameter field: The value of `Accept-Language`; `nil` if it is missing.
    package func writer(accepting field: String?) -> PageWriter {
        var field = field ?? ""
        return self.writer(field.withUTF8 { self.languages.position(accepting: $0) })
    }

    /// Returns the path for a link to `target`. Adds `base` to the gateway's own pages.
    package func path(_ target: String) -> String {
        target.hasPrefix(Self.ownPages) ? self.base + target : target
    }

    /// - Parameter site: The text to show for a site without a name.
    func rendered(_ page: WebPage, in language: PageLanguage, of site: String?) -> String {
        let template = self.templates[page.kind] ?? self.templates[.page] ?? .included
        return template.rendered { placeholder in
            switch placeholder {
            case .language: language.tag
            case .direction: language.direction
            case .title: HTMLText.escaped(page.title)
            case .windowTitle:
                HTMLText.escaped([page.title, self.name ?? site].compactMap(\.self).joined(separator: " - "))
            case .name: HTMLText.escaped(self.name ?? "")
            case .style: "<link rel=\"icon\" href=\"\(self.icon.url)\">\n<style>\(self.style)</style>"
            case .brand: self.brand
            case .content: page.content + (page.script.map { "\n" + $0.html } ?? "")
            case .support: self.support(language)
            }
        }
    }

    private var brand: String {
        let name = HTMLText.escaped(self.name ?? "")
        if let logo { return "<p class=\"brand\"><img src=\"\(logo.url)\" alt=\"\(name)\"></p>\n" }
        return name.isEmpty ? "" : "<p class=\"brand\">\(name)</p>\n"
    }

    /// Returns the support link. It leaves an enclosing frame, as links to the sign-in page do.
    private func support(_ language: PageLanguage) -> String {
        guard let supportURL else { return "" }
        let label = HTMLText.escaped(language.text(.pageSupport))
        return "\n<p class=\"support\"><a href=\"\(HTMLText.escaped(supportURL))\" target=\"_top\">\(label)</a></p>"
    }

    /// Returns the SHA-256 digest for a content security policy, in padded base64 (CSP3 2.3.1).
    static func digest(_ text: String) -> String { Base64.encode(SHA256.digest(Array(text.utf8)).bytes) }
}

/// Writes pages in one design and language.
package struct PageWriter: Sendable {
    private let design: PageDesign
    /// The language of the pages.
    package let language: PageLanguage
    /// The host, shown for a site without a name; `nil` if unknown.
    private var site: String?

    init(design: PageDesign, language: PageLanguage?) {
        self.design = design
        self.language = language ?? design.languages.first ?? .english
    }

    /// Returns the HTML document of a page.
    package func html(_ page: WebPage) -> String { self.design.rendered(page, in: self.language, of: self.site) }

    /// Returns a writer for pages of this host.
    package func on(_ host: String?) -> PageWriter {
        var writer = self
        writer.site = host
        return writer
    }

    /// Where users change their passwords; `nil` if not configured.
    package var changePasswordURL: String? { self.design.changePasswordURL }

    /// Returns the path for a link to `target`. Adds the design's `base` to the gateway's own pages.
    package func path(_ target: String) -> String { self.design.path(target) }

    /// The digest of the stylesheet for the content security policy.
    package var styleDigest: String { self.design.styleDigest }
}
