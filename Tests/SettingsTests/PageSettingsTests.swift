import Pages
import Settings
import Testing

@Suite("The look and the languages of the pages in the configuration")
struct PageSettingsTests {
    private static let folder = "/etc/sallyport/pages/"

    private func bench(_ files: [String: String]) -> SettingsBench {
        var bench = SettingsBench()
        for (name, text) in files { bench.files[Self.folder + name] = Array(text.utf8) }
        return bench
    }

    private func design(_ files: [String: String], _ text: String) throws -> PageDesign {
        try self.bench(files).load(SettingsBench.base + text).get().settings.pages
    }

    @Test("Without the section the included pages are shown in English, German, French and Spanish")
    func included() throws {
        let design = try self.design([:], "")
        #expect(design == .included)
        #expect(design.languages.map(\.tag) == ["en", "de", "fr", "es"])
    }

    @Test("Name, logo, colour and support are on the pages")
    func brand() throws {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg'/>"
        let design = try self.design(
            ["logo.svg": svg],
            "pages: {name: Example, logo: pages/logo.svg, icon: pages/logo.svg, colour: '#102030', "
                + "support_url: 'mailto:help@example.com', change_password_url: 'https://example.com/p'}\n"
        )
        #expect(
            design
                == PageDesign(
                    name: "Example",
                    logo: PageDesign.Logo(Array(svg.utf8)),
                    icon: PageDesign.Logo(Array(svg.utf8)),
                    colour: PageDesign.Colour("#102030"),
                    supportURL: "mailto:help@example.com",
                    changePasswordURL: "https://example.com/p"
                )
        )
    }

    @Test("A translation stands beside the templates, and takes what it leaves out from English")
    func translation() throws {
        let design = try self.design(
            ["pt-BR.yaml": "sign_in.title: Entrar\n"],
            "pages: {languages: [de, pt-BR], templates_dir: pages}\n"
        )
        #expect(design.languages.map(\.tag) == ["de", "pt-BR"])
        #expect(design.languages[1].text(.signInTitle) == "Entrar")
        #expect(design.languages[1].text(.signInPassword) == PageLanguage.included[0].text(.signInPassword))
    }

    @Test("A file of an included language changes only the texts that it names")
    func changedText() throws {
        let design = try self.design(["de.yaml": "sign_in.title: Hallo\n"], "pages: {templates_dir: pages/}\n")
        let german = try #require(design.languages.first { $0.tag == "de" })
        #expect(german.text(.signInTitle) == "Hallo")
        #expect(german.text(.signInPassword) == "Passwort")
    }

    @Test("A template and a stylesheet take the place of the included ones")
    func template() throws {
        let page = "<html lang=\"{{language}}\">{{style}}<main class=mine>{{content}}</main>"
        let design = try self.design(
            ["login.html": page, "style.css": "h1 { color: red }"],
            "pages: {templates_dir: pages}\n"
        )
        let writer = design.writer(0)
        #expect(writer.html(WebPage(.login, title: "t", content: "c")).contains("<main class=mine>c</main>"))
        #expect(!writer.html(WebPage(.error, title: "t", content: "c")).contains("mine"))
        #expect(writer.html(WebPage(.error, title: "t", content: "c")).contains("h1 { color: red }"))
    }

    struct Row: Sendable {
        let text: String
        let files: [String: String]
        /// The key, and how the sentence begins.
        let problem: String

        init(_ text: String, _ files: [String: String], _ problem: String) {
            (self.text, self.files, self.problem) = (text, files, problem)
        }

        init(_ text: String, _ problem: String) { self.init(text, [:], problem) }
    }

    private static let rows: [Row] = [
        Row("logo: /nowhere", "sallyport.yaml:8:15: pages.logo: found no such file"),
        Row("icon: pages/a.txt", ["a.txt": "text"], "sallyport.yaml:8:15: pages.icon: found a file in another format"),
        Row("change_password_url: '/p'", "pages.change_password_url: found"),
        Row("logo: pages/a.txt", ["a.txt": "text"], "sallyport.yaml:8:15: pages.logo: found a file in another format"),
        Row(
            "logo: pages/a.svg",
            ["a.svg": "<svg" + String(repeating: " ", count: 65_536)],
            "sallyport.yaml:8:15: pages.logo: found a file that is too large"
        ),
        Row("colour: red", "sallyport.yaml:8:17: pages.colour: found \"red\""),
        Row("support_url: 'javascript:alert(1)'", "sallyport.yaml:8:22: pages.support_url: found"),
        Row("languages: [en, pt]", "sallyport.yaml:8:20: pages.languages: found \"pt\", which has no texts"),
        Row("languages: [en, en]", "sallyport.yaml:8:20: pages.languages: found a language a second time"),
        Row("languages: []", "sallyport.yaml:8:20: pages.languages: found an empty list"),
        Row("languages: [../en]", "sallyport.yaml:8:21: pages.languages[0]: found \"../en\""),
        Row("templates_dir: pages", "sallyport.yaml:8:24: pages.templates_dir: found no file for the pages"),
        Row(
            "templates_dir: pages",
            ["en.yaml": "sign_in.title: A\nsign_in.titel: B\n"],
            "pages/en.yaml:2:1: sign_in.titel: found an unknown key; did you mean sign_in.title?"
        ),
        Row(
            "templates_dir: pages",
            ["en.yaml": "sign_in.host: Welcome to {hots}\n"],
            "pages/en.yaml:1:15: sign_in.host: found \"Welcome to {hots}\""
        ),
        Row(
            "templates_dir: pages",
            ["en.yaml": "sign_in.title: [a]\n"],
            "pages/en.yaml:1:16: sign_in.title: found a list"
        ),
        Row("templates_dir: pages", ["en.yaml": "a: b: c\n"], "pages/en.yaml:1:"),
        Row(
            "templates_dir: pages",
            ["en.yaml": "sign_in.title: A\nsign_in.title: B\n"],
            "pages/en.yaml:2:1: sign_in.title: found the key a second time"
        ),
        Row("templates_dir: pages", ["en.yaml": "- a\n"], "pages/en.yaml:1:1: (top level): found a list"),
        Row(
            "templates_dir: pages",
            ["login.html": "{{language}}{{style}}"],
            "pages/login.html:1:1: pages.templates_dir: found no {{content}}"
        ),
        Row(
            "templates_dir: pages",
            ["style.css": "</style><script>"],
            "pages/style.css:1:1: pages.templates_dir: found </style in a stylesheet"
        ),
    ]

    @Test("What could not work is refused at the place where it stands", arguments: Self.rows)
    func problems(row: Row) {
        let found = self.bench(row.files).problems(SettingsBench.base + "pages: {\(row.text)}\n").map(\.description)
        #expect(found.count == 1 && found[0].contains(row.problem), "\(found)")
    }

    @Test("A directory without files is refused beside another problem of the pages")
    func emptyDirectoryBesideAnotherProblem() {
        let found = SettingsBench().problems(SettingsBench.base + "pages: {languages: [pt], templates_dir: pages}\n")
            .map(\.description)
        #expect(found.count == 2 && found.contains { $0.contains("found no file for the pages") }, "\(found)")
    }

    @Test("A file that is no text is refused")
    func binaryFile() {
        var bench = SettingsBench()
        bench.files[Self.folder + "page.html"] = [0xFF, 0xFE, 0x00]
        let found = bench.problems(SettingsBench.base + "pages: {templates_dir: pages}\n").map(\.description)
        #expect(
            found.count == 1
                && found[0].contains("pages/page.html:1:1: pages.templates_dir: found bytes that are not UTF-8")
        )
    }

    @Test(
        "The path that leads to change_password_url is no such page itself, in any spelling; that of another host may be",
        arguments: [
            ("https://app.example.com/.well-known/change-password", true),
            ("https://APP.example.com:443/.well-known/change-password?x=1", true),
            ("https://app.example.com/.well-known/change%2Dpassword", true),
            ("https://app.example.com//.well-known/change-password;a/", true),
            ("https://id.example.com/.well-known/change-password", false),
            ("https://app.example.com/password", false), ("https://app.example.com", false),
        ]
    )
    func passwordLoop(url: String, isLoop: Bool) {
        let problems = SettingsBench().problems(adding: "pages: {change_password_url: '\(url)'}\n")
        #expect(problems.map(\.key) == (isLoop ? ["pages.change_password_url"] : []), "\(problems)")
    }
}
