import Pages
import Vocabulary

extension SettingsBuilder {
    /// Builds the design of the pages. All files are read now, so that errors in them are not first seen on a page.
    mutating func pages() -> PageDesign {
        guard let tree = self.tree.tree("pages") else { return .included }
        let folder = self.resolved(tree["templates_dir"]).map { $0.hasSuffix("/") ? $0 : $0 + "/" }
        var found = 0
        var templates: [WebPage.Kind: PageTemplate] = [:]
        for kind in WebPage.Kind.allCases {
            guard let text = self.file(kind.rawValue + ".html", in: folder, &found) else { continue }
            do throws(PageTemplate.Fault) {
                templates[kind] = try PageTemplate(text.content)
            } catch {
                self.report(
                    Self.place(ofTemplate: text.path),
                    found: error.sentence,
                    allowed:
                        "an HTML page with {{language}}, {{style}} and {{content}} once each, and optionally {{direction}}, {{title}}, {{window_title}}, {{name}}, {{brand}} and {{support}}",
                    fix: "correct the template; styles belong in style.css in the same directory"
                )
            }
        }
        let style = self.file("style.css", in: folder, &found)
        if let style, style.content.lowercased().utf8.contains("</style".utf8) {
            self.report(
                Self.place(ofTemplate: style.path),
                found: "</style in a stylesheet",
                allowed: "CSS",
                fix: "write rules only, without HTML"
            )
        }
        let languages = self.languages(tree, folder, &found)
        if let folder, found == 0, !self.lacksFiles {
            let names = WebPage.Kind.allCases.map { $0.rawValue + ".html" } + ["style.css", "en.yaml"]
            self.report(
                tree.place(of: "templates_dir"),
                found: "no file for the pages in \(quoted(folder))",
                allowed: "a directory with one or more of \(names.joined(separator: ", "))",
                fix: "check the path and the names, or remove the key"
            )
        }
        return PageDesign(
            name: tree.text("name"),
            logo: self.image("logo", of: tree),
            icon: self.image("icon", of: tree),
            colour: tree.text("colour").flatMap(PageDesign.Colour.init),
            supportURL: tree.text("support_url"),
            changePasswordURL: tree.text("change_password_url"),
            templates: templates,
            style: style?.content,
            languages: languages
        )
    }

    /// Reports a `change_password_url` that is the gateway's own redirect. Browsers would follow it in a loop.
    mutating func checkPasswordChange(_ settings: Settings) {
        guard let tree = self.tree.tree("pages"), let url = tree.text("change_password_url").flatMap(RedirectURI.init),
            let origin = url.origin, ServedOrigins(settings.hosts).contains(origin)
        else { return }
        let path = PercentCoding.leniently(url.path.utf8, plusIsSpace: false).split(separator: UInt8(ascii: "/"))
            .map { $0.prefix { $0 != UInt8(ascii: ";") } }.filter { !$0.isEmpty }
        guard path.count == 2, path[0].elementsEqual(".well-known".utf8),
            path[1].elementsEqual("change-password".utf8)
        else { return }
        self.report(
            tree.place(of: "change_password_url"),
            found: "the gateway's own path, which leads to this URL",
            allowed: "the page where users change their passwords",
            fix: "write the URL of that page"
        )
    }

    /// Returns the place of the first line of a file in `templates_dir`, for messages.
    private static func place(ofTemplate path: String) -> KeyPlace {
        KeyPlace(origin: .file(path: path, line: 1, column: 1), key: "pages.templates_dir")
    }

    /// Reads a text file of `templates_dir`; `nil` if it is missing or unusable. An unusable file is reported.
    ///
    /// - Parameter found: The number of existing files. The function increments it.
    private mutating func file(
        _ name: String,
        in folder: String?,
        _ found: inout Int
    ) -> (path: String, content: String)? {
        guard let folder, !self.lacksFiles else { return nil }
        let path = folder + name
        do throws(SettingsFiles.Fault) {
            let bytes = try self.files.read(path, PageTemplate.longest)
            found += 1
            if let content = String(validating: bytes, as: UTF8.self) { return (path, content) }
            self.reportFile(path, found: "bytes that are not UTF-8", fix: "save the file as UTF-8")
        } catch  where error == .absent {
            return nil
        } catch {
            found += 1
            self.reportFile(path, found: error.sentence, fix: "write a smaller file, or check its permissions")
        }
        return nil
    }

    private mutating func reportFile(_ path: String, found: String, fix: String) {
        self.report(
            Self.place(ofTemplate: path),
            found: found,
            allowed: "a text of at most \(Quantity.text(bytes: PageTemplate.longest))",
            fix: fix
        )
    }

    /// Reads the image at a key; `nil` if the key is missing or the file unusable. An unusable file is reported.
    mutating func image(_ key: String, of tree: SettingsTree) -> PageDesign.Logo? {
        guard let setting = tree[key], let path = self.resolved(setting), !self.lacksFiles else { return nil }
        let allowed = "a PNG, JPEG, GIF, WebP or SVG image of at most \(Quantity.text(bytes: PageDesign.Logo.largest))"
        let found: String
        do throws(SettingsFiles.Fault) {
            if let logo = PageDesign.Logo(try self.files.read(path, PageDesign.Logo.largest)) { return logo }
            found = "a file in another format at \(setting.shown)"
        } catch {
            found = "\(error.sentence) at \(setting.shown)"
        }
        self.report(
            tree.place(of: key),
            found: found,
            allowed: allowed,
            fix: "write the path of an image in one of these formats"
        )
        return nil
    }

    private mutating func languages(_ tree: SettingsTree, _ folder: String?, _ found: inout Int) -> [PageLanguage] {
        let place = tree.place(of: "languages")
        let tags = tree.texts("languages") ?? PageLanguage.included.map(\.tag)
        if tags.isEmpty || Set(tags).count < tags.count {
            self.report(
                place,
                found: tags.isEmpty ? "an empty list" : "a language a second time",
                allowed: "one language or more, each once",
                fix: "remove the key for \(PageLanguage.included.map(\.tag).joined(separator: ", "))"
            )
        }
        return tags.map { tag in
            let included = PageLanguage.included.first { $0.tag == tag }
            if let file = self.file(tag + ".yaml", in: folder, &found) {
                return PageLanguage(tag: tag, texts: self.texts(file))
            }
            if let included { return included }
            if folder != nil, self.lacksFiles { return PageLanguage(tag: tag, texts: [:]) }
            self.report(
                place,
                found: "\(quoted(tag)), which has no texts",
                allowed:
                    "\(alternatives(PageLanguage.included.map(\.tag))), or a language whose texts are in pages.templates_dir",
                fix: "write its texts to \(tag).yaml there; `sallyport texts` prints the English ones"
            )
            return .included[0]
        }
    }

    /// Reads the texts of a translation, by their names.
    private mutating func texts(_ file: (path: String, content: String)) -> [String: String] {
        let section = Section(
            PageLanguage.keys.map { key in
                SettingsKey(key, .text(.pageText(like: PageLanguage.included[0][key] ?? "")), "A text of the pages.")
            },
            names: "those that `sallyport texts` prints"
        )
        do throws(SettingsFailure) {
            var decoder = SettingsDecoder(try YAMLDocument(Array(file.content.utf8), path: file.path), file: .file)
            let tree = decoder.tree(of: section)
            self.problems += decoder.problems
            return Dictionary(
                uniqueKeysWithValues: section.keys.compactMap { key in
                    tree.text(key.name).map { (key.name, $0) }
                }
            )
        } catch {
            self.problems += error.problems
            return [:]
        }
    }
}
