/// Keys in PEM, made by `openssl` for these tests and used nowhere else.
enum PEM {
    /// P-256 as PKCS #8, with the curve's parameters before it, and with a compressed point; P-384, P-521, Ed25519; RSA
    /// as PKCS #8 and in the older form.
    static let all = [
        """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIabZq8na2W+BD5s+
        cGf5k9R4uGJSqnmHbr1WUAtxjJWhRANCAATMGyX/Lc/zwKRwU497b7bFbcO8MXLP
        Bli7Nn2fiV1NTQfqixcJLd0su1JMnVM8Xy+sRMsXGpd4cV8fEX1oTXdF
        -----END PRIVATE KEY-----
        """,
        """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIDDO/8O5//qIG2iPkqmAz10rYBgxmLG6sMIunfp7yuSmoAoGCCqGSM49
        AwEHoUQDQgAEjGWgTuLrJ/WNxwXQT6AgzDVLDIeJB5l72Gq0VYpRjgNetxR7vDgf
        0ym9pbFCTLDVtctcQJlE218s0iD+x5IOSw==
        -----END EC PRIVATE KEY-----
        """,
        """
        -----BEGIN EC PRIVATE KEY-----
        MFcCAQEEICGm2avJ2tlvgQ+bPnBn+ZPUeLhiUqp5h269VlALcYyVoAoGCCqGSM49
        AwEHoSQDIgADzBsl/y3P88CkcFOPe2+2xW3DvDFyzwZYuzZ9n4ldTU0=
        -----END EC PRIVATE KEY-----
        """,
        """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCw0IMV22hfusI6qv8O
        RYXLdOQyXcU56/WcurQltSpQwBo6nwKqHbqjv53TpqTf5HKhZANiAAT55UgQCCib
        VCWWNQwrednT1ep/KkyZiidaJiPHPBnOgodLu1rGLvdfOXuzlVqZ85xBUjZhd9Y7
        fUlbnIddAz3WQadndbg/1IGqQJUjY5HCtUJsHDzXacHD8cz9RpRJALY=
        -----END PRIVATE KEY-----
        """,
        """
        -----BEGIN PRIVATE KEY-----
        MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIBvV27DGj1jW3ALhZ1
        9Y0/ooqOgX/EaxdeyYYqijLA0AtG7RLC2f/m83TgkbrezInKYtqcm9YCQe6eoELj
        F2Me9bqhgYkDgYYABACc1yLDgK96mzbFFzyanhxGxQ9H84L90wtKRho5/jovTMYb
        almsaR/F4vo02wRMvt13TFfY0MXYKBBwNxDWUOfwVQBkWJX16Me8uGsqEEpk4Bs6
        Yvcdsk/a3SlLRS4JXM7TTUHan5RJIsyPCH/AVKaJDiFjg3bAhxRMVK0tckb3SF/+
        PA==
        -----END PRIVATE KEY-----
        """,
        """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIKkiFteZIwQaZ02r/8aafs0l9rof4sDu5ry1Mv3zH80V
        -----END PRIVATE KEY-----
        """,
        """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDH8zgAKM1izobA
        9OqtKEo6pMTDb6qTwDb+OfC5zhOi9UyMYMzGfq28oQFdtYbsZ+FeM0JWHnqgROud
        /vRRafRNatjyMvveWbIZLoBopTrMwzapeXfmWtiy7ILp2PHevGcDCcHmrSJJtR6g
        hAo6OEMAih5MX/6QLXpwbR94I/ixYa78zlNOGtitkKs6c/XJmkicJfC/ukWZfZJO
        JmD2W40iLhwOj+HiPgFAUt3nC/KOAEIrniF8HGeFM0ns2yy8dDdZ+yKpNVe5qO5t
        0EtGjMSKK3p3kHCDcVGjpD1G3pbn7KPaaSJ8UX4T1W3VA1p7Vna/qphIAQK1nvHA
        YyaqlobFAgMBAAECggEAChENMzjaqkxSjXlnLUOXhR9RhrNjB6BIRIFfRMOCypQG
        ABVJif7LuXDztCeU/Ob3+jmjb9mF+/asVB6HZ2fptFIaTQtTEe07IbhtH5ed/7we
        Tub+KdtOCKgOqT5SYw/iMc12dSonTUWwno03RJobiXXqs5arps+bV/iuemp5NVjq
        XJZU127hXAf+Hxbu0eWvp25oI+UPr+ZHh88cYrFukVLdhZba3MzaFL2RtXLH4hZQ
        gr/0DdtlgVquSjQDWpHAm7C+IhxQKbLaBk3UrF7SNBr9MSujbleAC/rgChpNwKQK
        yT9YRHsILF5bogsBuo6DlPXM4WgtXWdKgPgQvW2iWwKBgQDsIeiY/7M2R362FIlW
        2l3/9ajgHLUwm90bafBaTT9I7iVOPSTVm7VoMcccBw4gunWZTHLMDnl8UGELK+jf
        zitnjWm6gdGwFYogeG3aiiBeKDc//oPNhVccm4kdW7m0oDmSBFiAKLo31p9FQ+Qc
        aSvtxeXmwilsxmfY/gs6R8mctwKBgQDYxfj5mN8innLuHrxE8jjdr9VGxPzQBLqK
        DHfOHU/XhaliIU3XCdfwuToPxX8EExIK0i0YOfeJ5GMq3ItMdXjw5QUGo0ML/+e9
        JhT4k38XwN4N2P/dnIqZ7445aGHq73WqMhLYG7Rlg7x2WyYqW9r/QoQJX+W5bKmB
        twKjdER0YwKBgDhtXfT53ayR5zDBtZQguKfK36E2mwHTrUG4ziv2G7Jk3ltU9zFo
        dTBB/O+wq+qcRC/u+dvTdaqEVrxhsNOSpAKp42MjVKV8cDaUMMQxj8yQVaugOYTq
        YUe/z0NJwRXt1/QRv8hYcy+WxRa7Q46af1nhma/MJDQPMY/EHZC+yOn/AoGAJcer
        MuUfzorLARE+Qs3sd0aT5zeh0Cdi03iE0Nlu9uMGuGGRjW7bwcqmgeUr0+v28wfa
        cCR6LgAuAGRbqsG2iFWB4LxHjSnWm7KtaP1b4ynsCYHOZjNIPLfxk7PLjQSa/0Sm
        4B9D+4VQLViJeEx2CJLxLCkYgo6bpE3fGdnDrH0CgYB3/HO+wUK+m6CkBPvFGkXL
        6tdEygYmn5E5c7Ba32fLG4MYvyZnaJPXNe1v7+YIl9uw7wES0sFXLrVXflbkXxEG
        n+3Bd3N/Vt1DDdHtbKQZ2EqXndD+WfgQUY6EbZXwIXv9F5NUoih6dByvgyF60Y0O
        n3sG7Z+qSyCSTPz99ee7SQ==
        -----END PRIVATE KEY-----
        """,
        """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEogIBAAKCAQEAx/M4ACjNYs6GwPTqrShKOqTEw2+qk8A2/jnwuc4TovVMjGDM
        xn6tvKEBXbWG7GfhXjNCVh56oETrnf70UWn0TWrY8jL73lmyGS6AaKU6zMM2qXl3
        5lrYsuyC6djx3rxnAwnB5q0iSbUeoIQKOjhDAIoeTF/+kC16cG0feCP4sWGu/M5T
        ThrYrZCrOnP1yZpInCXwv7pFmX2STiZg9luNIi4cDo/h4j4BQFLd5wvyjgBCK54h
        fBxnhTNJ7NssvHQ3WfsiqTVXuajubdBLRozEiit6d5Bwg3FRo6Q9Rt6W5+yj2mki
        fFF+E9Vt1QNae1Z2v6qYSAECtZ7xwGMmqpaGxQIDAQABAoIBAAoRDTM42qpMUo15
        Zy1Dl4UfUYazYwegSESBX0TDgsqUBgAVSYn+y7lw87QnlPzm9/o5o2/Zhfv2rFQe
        h2dn6bRSGk0LUxHtOyG4bR+Xnf+8Hk7m/inbTgioDqk+UmMP4jHNdnUqJ01FsJ6N
        N0SaG4l16rOWq6bPm1f4rnpqeTVY6lyWVNdu4VwH/h8W7tHlr6duaCPlD6/mR4fP
        HGKxbpFS3YWW2tzM2hS9kbVyx+IWUIK/9A3bZYFarko0A1qRwJuwviIcUCmy2gZN
        1Kxe0jQa/TEro25XgAv64AoaTcCkCsk/WER7CCxeW6ILAbqOg5T1zOFoLV1nSoD4
        EL1tolsCgYEA7CHomP+zNkd+thSJVtpd//Wo4By1MJvdG2nwWk0/SO4lTj0k1Zu1
        aDHHHAcOILp1mUxyzA55fFBhCyvo384rZ41puoHRsBWKIHht2oogXig3P/6DzYVX
        HJuJHVu5tKA5kgRYgCi6N9afRUPkHGkr7cXl5sIpbMZn2P4LOkfJnLcCgYEA2MX4
        +ZjfIp5y7h68RPI43a/VRsT80AS6igx3zh1P14WpYiFN1wnX8Lk6D8V/BBMSCtIt
        GDn3ieRjKtyLTHV48OUFBqNDC//nvSYU+JN/F8DeDdj/3ZyKme+OOWhh6u91qjIS
        2Bu0ZYO8dlsmKlva/0KECV/luWypgbcCo3REdGMCgYA4bV30+d2skecwwbWUILin
        yt+hNpsB061BuM4r9huyZN5bVPcxaHUwQfzvsKvqnEQv7vnb03WqhFa8YbDTkqQC
        qeNjI1SlfHA2lDDEMY/MkFWroDmE6mFHv89DScEV7df0Eb/IWHMvlsUWu0OOmn9Z
        4ZmvzCQ0DzGPxB2Qvsjp/wKBgCXHqzLlH86KywERPkLN7HdGk+c3odAnYtN4hNDZ
        bvbjBrhhkY1u28HKpoHlK9Pr9vMH2nAkei4ALgBkW6rBtohVgeC8R40p1puyrWj9
        W+Mp7AmBzmYzSDy38ZOzy40Emv9EpuAfQ/uFUC1YiXhMdgiS8SwpGIKOm6RN3xnZ
        w6x9AoGAd/xzvsFCvpugpAT7xRpFy+rXRMoGJp+ROXOwWt9nyxuDGL8mZ2iT1zXt
        b+/mCJfbsO8BEtLBVy61V35W5F8RBp/twXdzf1bdQw3R7WykGdhKl53Q/ln4EFGO
        hG2V8CF7/ReTVKIoenQcr4MhetGNDp97Bu2fqksgkkz8/fXnu0k=
        -----END RSA PRIVATE KEY-----
        """,
    ]

    static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEzBsl/y3P88CkcFOPe2+2xW3DvDFy
        zwZYuzZ9n4ldTU0H6osXCS3dLLtSTJ1TPF8vrETLFxqXeHFfHxF9aE13RQ==
        -----END PUBLIC KEY-----
        """

    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjwyjF66noeRgICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENCCsC0SRlca81owaPUL3eIEgZAw
        Ayquh1vGMcUxriluFLvZHDaoV3MRB8ipYpDSmCmhNPSSGEbxrbOYJUMZP6R+SuKZ
        YLdZvbpD5gcPZwbeBQDUFnXa6YVSyNSVbPUk0hlFVjUhiTwoAPMjMcM9O+3Vs+8s
        Lom6bt25oeS5SIiwd+vbD7WeNA8qZU04I3lGUfR6nOayC/DD9pGgvBa9EE4yrds=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    static let secp256k1 = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgotBRgFSzq9Jkc5LXSEa9
        l+GFLhOsnnk0nv7WIB/NfsKhRANCAARjCCLRB1g6gGoT57ujZe4FFmmmN+1YGdZS
        Z4VPe6fx+8J8HDQ65SXKHnU7zgFud5CID5DhjTtPa/VBBj7ivIin
        -----END PRIVATE KEY-----
        """

    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBAMGaN4N+IFud+UgI
        5hXh7j8JolwjWyPyC2xA6RFYvv25RhpVWQlUR+KNEo6p3oiQdoB0Ov6tEn6Y/oar
        R3C+VMN6UoyjNP70Evqi0UXDtELNoxmx3CInNc/QTNpnbY4W4g7Nhj3+DJ53OfV0
        zqWvb/iF0cv2uhIpDx8KymxRdzAvAgMBAAECgYEAmIviSAq+hlIAVMEmQoHGDweR
        VdZJ/xW96Gtw+ckanKM62I79W/t7tMgBokW44ZQqu2ZaAcfvda8phoU5Al4GPKp5
        vXGAX9QUY/oacX776S7TLVRfwKP2foCHVu8RjMttm18rGPI26XQiAey/zP/+qNgn
        Anhe22Dm0AXlipfKERkCQQD+9PzebdGl1nuXMc8PiQzukMfWAZWm8bThJGtwRkOL
        o675VeaiJXX/v8AfWMFes3hps5cYwL3vs3hSZUxNUrS1AkEAwmT5NBRiIqdmPZjp
        cBmzIjgR/6Q1rUoRF+3dA8rtxkK31JfQQDnZx/mQ6Owp/S82cUI6wnkdVfyRIHwV
        82mj0wJBALUDt20sx0ZZC5KDOKGtClNu05LruRa4UVXwB5/FIzvHUPmRtZe1xRt5
        Rqx61X+pKHrTmRln7vJ6l5jYdt4HNGkCQGAdtOn/OhaQVokWVjXLPzsoJh4Uf0XT
        XWhLgAAkEjT5QBOpjJp1AC1UREYmnwxEj9KoQI1vfQXK/6bkM6ZLEWkCQQDHq2Lv
        pI3iPHOtBWu4citN/MZ4PGfx5Kcl3rpbo1Dv3D3iY+tm0L4PDLn6xwmm1/bktf5h
        sIZxTc8dpt1lHHKW
        -----END PRIVATE KEY-----
        """

    static let ed448 = """
        -----BEGIN PRIVATE KEY-----
        MEcCAQAwBQYDK2VxBDsEORyAAKqhxLnboJBszA1ejCvp2UpyOtSgVkiIGDqwfNsG
        8bLT7wFmxXcC87twmN3xLG/HvfQ0jLCDmQ==
        -----END PRIVATE KEY-----
        """
}
