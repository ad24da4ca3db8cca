/// Made with another library (pyca/cryptography); every signature is over the bytes of "latchkey", every hash over
/// the bytes of "pässword". Binary values are base64url.
enum Vectors {
  static let p384X = "ELydFPohIULhB20Wc63bzQ2TJ9CIrROWeksTLWMeQfzJZIpORFsSIRZrnIfoCvtb"
  static let p384Y = "lUOYwH0CsTcp9ot5V7Ye0JDu0oFI_q4QhZA7XXOj4xVgFRrtTEj4PTtmgMoku_vK"
  static let es384Signature = """
    tMsbh-ifseRiqNWQJxv6cYBWk4_hqls3XD4HE9DwcAq8l7bz-VIKiXNZPndOPWgpxpxymKw6JTWyCZ8ImOahIFvQZJB5xPmByUM4\
    P8CQWivvGlrFrDd5OD6tGZedU5V5
    """
  static let p521X = "AKnBoQd2h_d9AYiSOxhCMPWXTgmERUvKGKnbZkXEaiqfMZc7UPor7lX6_FUClc3OPqxPWHf_L5SQDBybs-P5OC58"
  static let p521Y = "Ac2uWd96PLvEwFxuZjfPEqlveAFzA_iGnXLHzdxe8xniNjImGxnAoDqTHWsBicGFSQazj0GdXQA8LoGNwXi0kCua"
  static let es512Signature = """
    AYPpv-ne90oDHhxGP8IW3tfJagmoNDqxgouK8IFy0U24bzdBY4WkgUNM2OAByny6T-EkCr-aG-igZ5HhfVos3MoWAQhKgmQw31fP\
    wW_K43VdfYZ_KIG36f2Ae-RK3LldGZx9TebGSEW7SWttD4RSbBL7PH26C2riC3VM9naFwQUbvyX5
    """
  static let rsaModulus = """
    vWIcPK_G28HLVsDaHtnlcMw8FdCFr8uYDWiAkd-iWvsu9HHT7OJPf3auNAlYFJNAZUOnrlNoWTyD7Pub-Ri98WHbwqdEhTpkET0U\
    fxTdU0QeCLzX8aT2NLY1mdGq474mJVKG_YvRAZ7mZI3hibX-h96JJwZLfuE3QRHaDCa8dJ0DxJQ0Z9VwfuxoQQ-_YB1jq0Od4yoN\
    YAzoxm1nQrq5iOcPx8Cfy_NEEC7S8wNGeSQc4zbMzoVsP7Zd7i_pfEtRslm3XqGrH1KYs2o8zPqpyG2PpwjHVoSRW5BZCrtTCj2d\
    F4F1cn4c8v-LrZLYHyan6mDs27VO7hyjUn2I4ctUPQ
    """
  static let rs256Signature = """
    IGZt3jsDFQ1FcE9-aPw9-PKbQxCxS9MrE-pYa8cExOyYtNci1ha2ZPlfaaB0YiYgOehiuAWr5-4pOUizxqCHcQ_4QT3VV_Hn2d5i\
    qnk0dfD9iXhfYj50KzIlY_D9T_BydTtDutWB9aKlL3lm9SSv5tSv2PgyZUubeWO2ePjArbZeR1N2qUHjQd-tHibGnzieIhnlP1d6\
    _8_oRNS3rjVbczv0IY7U41Pgj0Xmg0s5HFN4OJT15CGjIgnWhSG599xyQEysuRGTGFysjSzUEa9Hfozr65Emk9kTTSbricu2AmJ2\
    N6hYv4u79zxRAQxJCxUyICFwitRkCUlrsc_5rsW9uA
    """
  static let rs384Signature = """
    dHRktB0hMV5PkjanNK73oUTo4Px8wjJTwqJccWlwDDiZptQU8Tw1kzlEcDKF5sPHKm6aG15dC1YgPEiKlyUS8_n_rB1mCcKHeOcn\
    RSuhgRdQ7gBUmPoOymA1g9G7V5kHPG10S0oF0m8kQ4ABnHyGQb2iElee5Emuf6lbm1f-uuM_h3D4TSkgURnzTmK_ncxzkhAUyC6X\
    GioXxo3kY4awo6vA8Xsq1_jCgxhJOxe7zcJk5lbtcEg03CgnoJkPS-XkPbw8oYbuMg0gsbu2qIuYJAQ5ch3cPN7hYzpMyaVKkfPn\
    qiTeVRPImydEnbvGHyFO7zh2PP3dEetvLncLOgP0Yg
    """
  static let rs512Signature = """
    cmQkPTVXyeP1cygG40PH3pQbVRd1U1b6A7RMyK2Eyoaz2fJVowNOc21Ghf4K7dwWRhVU-t2PSLyYo1aN3A7rmUHk1fHrywUrTgHQ\
    tT3Cvy4uofCUT5UZW2KVCqQkg-13qHAZacPpJsT7TtJDpKkTz0x2wGVhuBtVAyLieS8qZX_JYy7FrOn9WpW1l-e-Oi29ueKRqeRy\
    9LP0T06VSbrWFecy30_Wo4Y6W-DrDEcPOhJhtKw0SANxiLkMdgk_iX7ETttjB31iJXfSfZHeMXbiL6mXUiXbInDVIOOYiuWCRLF-\
    QK_DUU46OP8IAMTWAgBliu_zku4rDKIzsYuJ9DVBzg
    """
  static let rsaOfThreeModulus = """
    scm-TNlZgxugm_aWvpVdHzwJcUtzTOlf9B1J0F4pBfqyjZfpul_inPbQt98C0VEUCJcSflJ0qM3KJEmBRUbEjFSYL23KRSab3Ll0\
    oobWP1qu5EF5hyzp99eem7Pp_qrU9-ycAhGXzob7JPLeeZvFxpB35rLqkCfJ2moFFScPoSDk1e9Zpfa1y1GulIqanpeASXSA4GVa\
    msFfRlMMANTJA8GLrrEN1ilYfHGKmkIw0A4Rzpxg9THugaLmk7sPuYN_E-_DjLmhAddmnx40YXjzXmFIjQgWNU_2ZYMKwSSUcyFE\
    EbtnqyFMkL1m021tfSoa8eu_kRoq1AEGlzOB5GJXrQ
    """
  static let rsaOfThreeSignature = """
    ptHO0VmfoIWwkvf3zvkNWqkeKk6SPgANmDtf7wfNsctysmzRuemR5_6p2S3HPwrhu59-s3_6LrZc0Y5nFQPkHJLfzkFAE55hCNjB\
    8yQpMejy6SlNPjqNEAxelvP0BBNJ0FVdlEsejANb-4EDbYQwjMfVwxMcYiNEV6TrsC247a4Elmb0UvqzmPPcvGx2qOWoLtyciYSr\
    f2uWSQgclW7taUWpLsA_rSLav692j8JxNlCXKnR9tnBJE8uPRn9qaQ1aKw3078v6vKCagjn47K8UNk4PjyM37Ghv0tj0A8I-66Ow\
    GzpXB6krH0h1pgUqJCbykB1d66L5jSu-PWBZmeSHSg
    """
  static let ps256Signature = """
    cq0WPhMeNgE9zbud9go9VuNRQ9s6fvYWyJVtRExv2dPhUQC64NobDqlE3tqLgt8aIdAHnHV6uS-YUGFWDQtyGo28YVD-0DCQSmX-\
    3SEOkn-FRmUbu_FhT5KyfMsorTCOTjjBN1-gywppFloICzyYjU3ZDruoLhdHI6HTL6e_Tz1TyPsVzKTe0KyLFGigNNNfzv1KciYM\
    IwvTdfmehUMH-170aHg9v6KgUsCO8O5mbICLvemSdQXxrkH-SOsnseis4hHN6qYwkr0yJmbyAaCg_DafuSgRU9dZFnBpN6RmNHUS\
    0JVTxQ46OhwBm3Ub39nnOHU_7T5ftR_EbmFQkdXmsg
    """
  static let ps384Signature = """
    k0Vcx9R1INtT_a8uw4SNvc9cVfn4Kze4I2T6B68rxdxrGsWmHT_66areapwNeYkda1xoZy610-YfnGyaTEb4575bvS_Y4vAAPSaD\
    W_buVP42OzL5EgbVrocSv-Zj0xgyLKwt5JXD5JN0purzYB9EFCKbQ89llbG4Ay6SCvN7SVuAJODRm9dfuJ619FiRKKLTyQ6BVa29\
    yzk2nEyu1Gl5jEW89g9-sQ-_DbAc7fCKn6sUnvij6bhWw5XSQG-0owQcb4cwyr77IpcQIgkK-0cqvIPsEAF2C7xZ_pZosGmk_Nft\
    ghiadzphA2aHgULfhbVQjt2QOHLER6j6TA-Rfy5L4g
    """
  static let ps512Signature = """
    qg_B_rs1bdcVyWvIrFZ9kMfov6BIC4NLiDCK2yw8tG5U4AnmlOQ1Fr5Vyc0PTgBWjNRUargUC211XmHE9NLNX44y2GroumdlBUKQ\
    xTnIRNKwiNblhsdjYCIu8eG6Hdqy9izRo-WcqIj3hXkaBTDq_8_Q0fcoYyCfy7g48GKWPJJ_UxDzJPPBGIm0mVVynArv-tu4iVMg\
    bweLyNz4qV8K3jV9bMub4IUnbfEmzrebxxUXqgOaDdr74QebqYD4JHLFO1c052eL5sRq7J7wcAy0RcdTzqmROeH32uWRWPEpYAvg\
    F2OaF8VKNQ8WS6vHt0_qCzEopiGUk0zHBsGjMdZIQQ
    """
  static let ps256ShortSaltSignature = """
    MvDjAozxkoCvRlLUc2V-UT1uMGyhs-zFnUe6sDqxUN2Hxy1TZD6QKK7JttYN1nTEj6RmGYekVq4Hd037KARKkRLTkNcO65wgR2Go\
    me2NiJUDSNfhPIcmLwhUgX_gW1s8E8r3Jmj9zzIe38vB2iXMmjPg8ezOaJAw39FtFzbyG-iZChOIZ4nM0d3x0WVbfGT8m5Z3TWNy\
    AWjAQfnpbqiG1CnWEGO8epFxbsOSSEbl2gq3GT2lGEx0Cfev_ckzE23hBmdf4jOPrqM7Rx5seTfSfIFAJyi4wf5l-R0sbTFPnyOL\
    _EL69XIGqQrTxzIOc1GmkmlE_znL77TPPqwJKQOBYg
    """
  static let shortModulus = """
    3Z4EcYd4CUFWHz3XDSDlkiL_8rrQ4AX7JzxY7hZyjjS_MaLO_DGH--re84ug1a18oTEdvnueEqbK0sojltQb_WPvG_DxMpRTKk5A\
    og4G1AUsVXgoc_lMBuVVlHFuN3kowACnfLMIyv0qT7orbr4eEES-vyl-1QDE-8O56TYggZE
    """
  static let argon2idSmall = """
    $argon2id$v=19$m=1024,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$cPBhWHDCCuC0Z83u1h6Jp44YIU2yasKVTFb+yQkiadM
    """
  /// A hash of "password" from the reference implementation's own tests.
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
