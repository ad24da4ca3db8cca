/// Made with another library (pyca/cryptography); every signature is over the bytes of "latchkey", every hash over
/// the bytes of "pässword". Binary values are base64url.
enum Vectors {
  static let p384X = "ELydFPohIULhB20Wc63bzQ2TJ9CIrROWeksTLWMeQfzJZIpORFsSIRZrnIfoCvtb"
  static let p384Y = "lUOYwH0CsTcp9ot5V7Ye0JDu0oFI_q4QhZA7XXOj4xVgFRrtTEj4PTtmgMoku_vK"
  static let es384Signature = """
    tMsbh-ifseRiqNWQJxv6cYBWk4_hqls3XD4HE9DwcAq8l7bz-VIKiXNZPndOPWgpxpxymKw6JTWyCZ8ImOahIFvQZJB5xPmByUM4\
    P8CQWivvGlrFrDd5OD6tGZedU5V5
    """
  static let rsaModulus = """
    yPE9NQVJE_GipSOM2mQhl2CcrJAgx9d8DQiMWuCmGsmWQXc2ZdIhr0dEu2jwJqQFw36Lq_I1Yp3NhSrT49ll59qdk7AxaYOLxXyi\
    mHcE4K7AsDeHa4JeisqRrjlt84zY1l6d7ogYAo_vkde4sd_1FcOEPIimq7eVZQ_8vmAOuXhsTPCBmFQDagXg9QPhskXAhIuUYAge\
    MN1aH1RyWYVBpNCMAXeOG7fu0UJIPdEfD_kocEmWkD6nCkouU3xcsM0jROoP6C6FSYfpAicQ7VfakLMVAvZHkPQK0Eb42dyl1s5l\
    A74Hb278WrovSGIdjZBxjn8uEiUOBLyYUcgnkvAgmQ
    """
  static let rs256Signature = """
    AVKhJ5jn154HKPy2bZmvOgfkqX0aI2BNk5woaCxulD07aHEtGoXbVMj245G3YyV4jWQ4zwL0nplZhj6ta1rCXSyfX8yEOWwqrfNR\
    iYGlGSs646DPWJNh9k_oeuLDPQm5nVQ69q5v7BfIhZn7f4hWUOtDjny3sw_dXKdlZnWDuaHFNnncBIYz9LotTEwSN4rF0g8IFsuS\
    7DSq5dUoxItqxT2i6XMv133YHjKNjmzQy0BIRcwFklHbc5WIF2XwAJkhfLDmy0Om5zV93kLHCnojY0l2NHm1RzONGI-PhEl4NgqR\
    bMaKTxO_yteS5Hp9D-oqb7IDyDS2ICSIzVGjTJFPMw
    """
  static let rs384Signature = """
    kynXQH__Rom9ORSHklXmuofI02tX2kGI16fMIOkrNtC6FJYhtkEXAO8WrbYPB8ots2H2S7gaAIYXORoanzPNnRvapBc-QsIWtyNz\
    pcq8CYc124p_nyY_b5HIB4FZoXNsMeHeTKNbvuTQYmwvXg-rmTZAWpx_6n1cD-ZjXWBFcXh40FCsBKL5ov5vMkBfhenGnyAYUXdV\
    3uJ2U28ygvN1-axLP14EHVJpZmzeqQbTdGgeGOIO7CR58CKhESLrroBF4nCADaT3cxWS5R-WxPgdSqweIK6fmg01XtFFR293eFF9\
    HZwU8_tqy9qm9X2kE4IH8tjCdyGGciI5nP4WjInFUA
    """
  static let rs512Signature = """
    HNDSrbuLgFyGPOOl1ZASIhpgWZ6X1q2BWHz2aYHQVuUkLUA5rYFaTHxpeYXxq5EMg6rqIP8ad-t-096fcVffGE_WfplefnJsu6Yb\
    Sdhhu4TYbcRq_sey-Ym6Dagd1zOGdWlKs74OYGidiIhXEBxGRKxwboUYXGGWpfL8mQi6uiZSQzDzzG-FuZxjZbZrwHxIsYu73Z06\
    wQncAh9zvIIUxa_o214V55_tyh4HwxKND398YFUyt108cwkuriJrVG_vYORL5tJJbv6zj2A0Tg1N294zzQyzHin8FJDBbQVE2wtJ\
    zZUguPkPIByBYsjp4hVwV2AYpi3OlB0TSoA2n7_1wg
    """
  static let ps256Signature = """
    k700v1FFfQ7sTSkrMGNg82v78uYoetzV3Sc1OdceU74ekLSe6RWWyMed8PlwFFQkc3bwIfRidMVjvuDHh4RLEylKoJx4wtn3oA-y\
    xq-DBsEqDX99WjZuip16RuGINQFjbn4Z2q7N0Df7Bd3LwGQl9ZmwuwuZ34z8BUxrwsjBW9SxSNbtum25kXRpdT8TyhIOp-DAXiQ7\
    1hlMEm9xbC7IyQktnniKc7Qqjl5MAekVqSyVxljot7SUgP5nJfYVJlOIVA1B6kISgG2ltXAmkjbIgDNoPxdDHuBp1m74mwblVMVC\
    V94slGypm5dat9LumAfZVAvcdhzNl2BT-QlobIi9Rg
    """
  static let ps256ShortSaltSignature = """
    MeQwGDQFr0z9BCwDN9vawHBPolzkP5IgM2Egb4Dj5MIXb2P4e4SXwgO0LpwfB6enOquJrZkDc2tMNtPYnnLp41Jvfx0JtEKt94wg\
    KRoYrZdjsujhH7noyK0VNLIB31bBAlti88NVFdE_JiEczs_LUK35h5jSimdG-Mj0H7PddRKiuR5JnCesz0ShOKNrc5wEFH3culiL\
    yR8UibnxYooLFUJPjjo5-AYgJp9TDc6fPjA2TiXx518uMlqbnBCIL3qkn874i7OToj0G_JD5M5RkN1PJAxQKyyzywx7yF-IFTtsk\
    TFeFDkinLyhF8iyRieIxvMTfw79t_Tcofbc-GoH0Kg
    """
  static let shortModulus = """
    3Z4EcYd4CUFWHz3XDSDlkiL_8rrQ4AX7JzxY7hZyjjS_MaLO_DGH--re84ug1a18oTEdvnueEqbK0sojltQb_WPvG_DxMpRTKk5A\
    og4G1AUsVXgoc_lMBuVVlHFuN3kowACnfLMIyv0qT7orbr4eEES-vyl-1QDE-8O56TYggZE
    """
  static let argon2idSmall = """
    $argon2id$v=19$m=1024,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$cPBhWHDCCuC0Z83u1h6Jp44YIU2yasKVTFb+yQkiadM
    """
  /// Of "password": a test of the reference's own.
  static let argon2idShortSalt = """
    $argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc
    """
  static let argon2idDefault = """
    $argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$5/W87cqWDElP2gtnTIq/qDSP1zopANxZLonkobS2XWw
    """
  static let shortPrivateKey = """
    MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBANNBfFSQB6CNvEXsr57XfeGLiihuA_JdsyMJ5jgZ4MCg7tJtRDA2\
    vI3i146nIw7HJgnKvAX2wkF-t9wFKuVbqo-dLW-vAqdTDlv8VaCAoCApRD9W5zWxi0WS4yCPFGJUMr1xKtC96yFUNVWWGmER9UA2\
    7TVBWZbSVqSVujrZJ4yVAgMBAAECgYEAxkjb8t8xWYBPa-5pNJUc4TtBFQuWBsHt5wBept-bNhKXtsi6TOrDdgWpv4qe_DruOBii\
    _JIM6L6QwiHTjm3ImsjDEs2nzHwh9XCJLs6DrC547eKzFph0e9LjIHWlDQFzmOsSX-dBTWMKrpRCovGO1SUgfrZXwbaHgDZ8EC_X\
    BMECQQDyfkS9MpjGWZEBt6xW_xoSER3hNp96j0xKg2xTzJqz3kCyFr9aVqBeukKDa8Dq641PXWe4RhFyi-WglFpNmmmlAkEA3wXM\
    ynk_NGFRoBFdfi5C7AJIeBZJGZgHYp89VhaMTqMXpJVqEpm3OOAaFODtb1LiS1Lowxnno7svst8TOyvEMQJAJkBo03eBxfgm-aBh\
    nS-Mi0EL95TIP2sPW8mzctyZornydqVD9hooHgk_qL98pRIXLmfLjrPu2KTcyiHcxNUQyQJAXQZGTY4VVvvg2CtmG-Of9mFdaPmi\
    tBI9wl05cFcnXwWYLwZDoE6NpiOTvXG0l-KykUib3gVIIXtKggmaM-wlgQJBAIRTlXU0bL7GSLmQubtW1WS_4sejxcwTBT3yBk9u\
    SzdHUYn0D3yVahzcBsL5rbHLxTRHmyJwcL3XLDSAoR09xvs
    """
}
